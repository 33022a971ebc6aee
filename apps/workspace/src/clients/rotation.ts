import type { ClientUsage, OAuthClient } from '../api/contract.ts'
import { duration } from '../api/time.ts'

/** A token lives this long, so a system that runs all the time asks for another within it. */
export const TOKEN_LIFE_S = 15 * 60
/** A token this soon after the client was created is taken for a trial, unless it is known when its secret was put away. */
const TRIAL_S = 5 * 60
const DAY_S = 24 * 60 * 60
/** A client that asked for a token within this time is in use now. */
const IN_USE_S = 60

type Used = Pick<OAuthClient, 'lastUsedAt' | 'tokensIssued24h'>

export interface Progress {
  step: 'create' | 'deploy' | 'watch' | 'revoke' | 'done'
  /**
   * `trial`: every token so far came before its secret was put away and went to one address, so nothing proves that it
   * is deployed.
   */
  replacement: { use: 'none' | 'trial' | 'asking' | 'silent'; seconds: number }
  /** `quieting`: not in use right now, but not for as long as it usually pauses either. */
  old: { use: 'none' | 'asking' | 'quieting' | 'quiet'; seconds: number; pause_s: number }
  /** Why the old client should not be revoked yet; undefined when nothing speaks against it. */
  caution: string | undefined
}

export interface Rotation {
  old: OAuthClient
  replacement?: OAuthClient | undefined
  /** When the replacement's secret was put away; undefined while it is still shown. */
  since?: Date | undefined
  /** The replacement's tokens went to several addresses, so not all of them to one person's trial. */
  elsewhere?: boolean
  /** Why it is too early, judged by when the old client usually requests tokens. */
  unproven?: string | undefined
}

/**
 * How far a rotation has come, judged by the two clients' token requests. A pause is judged by the client's own habit:
 * one that asks once a night has not stopped because it was quiet for an hour.
 */
export function progressOf(rotation: Rotation, now: Date): Progress {
  const { old, replacement, since, elsewhere = false, unproven } = rotation
  const pause_s = usualPause(old)
  const before = quietFor(old, now)
  const oldUse =
    before === undefined ? 'none' : before < IN_USE_S ? 'asking' : before < pause_s ? 'quieting' : 'quiet'
  const after = replacement && quietFor(replacement, now)
  const longest_s = Math.min(pause_s, replacement ? usualPause(replacement) : DAY_S)
  const tried = !elsewhere && (!since || Date.parse(replacement?.lastUsedAt ?? '') <= since.getTime())
  const newUse = after === undefined ? 'none' : tried ? 'trial' : after < longest_s ? 'asking' : 'silent'
  const progress = {
    replacement: { use: newUse, seconds: after ?? 0 },
    old: { use: oldUse, seconds: before ?? 0, pause_s },
  } as const
  const caution = replacement && cautionOf(progress, old, unproven)
  return { ...progress, caution, step: stepOf(old, replacement, newUse, caution) }
}

function stepOf(
  old: OAuthClient,
  replacement: OAuthClient | undefined,
  use: Progress['replacement']['use'],
  caution: string | undefined,
): Progress['step'] {
  if (old.status === 'Revoked') return 'done'
  if (!replacement) return 'create'
  if (use === 'none' || use === 'trial') return 'deploy'
  return caution ? 'watch' : 'revoke'
}

/**
 * From when on a replacement's tokens count as its deployment.
 * @param putAway when its secret was put away, if that is known here.
 */
export function countingFrom({ createdAt }: Pick<OAuthClient, 'createdAt'>, putAway: string | null): Date {
  const at = Date.parse(putAway ?? '')
  return new Date(Number.isNaN(at) ? Date.parse(createdAt) + TRIAL_S * 1000 : at)
}

const IPV4 = /^\d+\.\d+\.\d+\.\d+$/

/**
 * Whether tokens went to more than one machine or network. Only IPv4 addresses say so: a single machine may use one of
 * them and several of IPv6.
 */
export const fromSeveralAddresses = (addresses: ClientUsage['addresses']): boolean =>
  addresses.filter(({ address }) => IPV4.test(address)).length > 1

export interface Pair {
  /** What the client is in its rotation. */
  role: 'old' | 'replacement'
  other: OAuthClient
}

/** The rotation that a client is in: as long as it and the other one are both Active. */
export function pairOf(
  client: OAuthClient,
  find: (clientId: string) => OAuthClient | undefined,
): Pair | undefined {
  if (client.status === 'Revoked') return undefined
  const active = (clientId: string | null) => {
    const found = clientId === null ? undefined : find(clientId)
    return found?.status === 'Active' ? found : undefined
  }
  const successor = active(client.replacedBy)
  if (successor) return { role: 'old', other: successor }
  const predecessor = active(client.replaces)
  return predecessor && { role: 'replacement', other: predecessor }
}

/** Seconds since the last token; undefined when there was none. */
const quietFor = ({ lastUsedAt }: Used, now: Date): number | undefined =>
  lastUsedAt === null ? undefined : Math.max(0, (now.getTime() - Date.parse(lastUsedAt)) / 1000)

/** A pause of up to this many seconds is normal: its mean of the last 24 hours, and at least a token's lifetime. */
const usualPause = ({ tokensIssued24h }: Used): number =>
  Math.min(DAY_S, Math.max(TOKEN_LIFE_S, DAY_S / Math.max(1, tokensIssued24h)))

function cautionOf(
  { replacement, old }: Pick<Progress, 'replacement' | 'old'>,
  { tokensIssued24h }: Used,
  unproven: string | undefined,
): string | undefined {
  if (replacement.use === 'none') {
    return 'The replacement has not asked for a token yet. Whatever uses the old client would stop working.'
  }
  if (replacement.use === 'trial') {
    return 'So far the replacement seems only to have been tried out. Whatever uses the old client would stop working.'
  }
  if (old.use === 'asking') {
    return 'The old client asked for a token within the last minute. The system that uses it would stop working.'
  }
  if (unproven !== undefined) return unproven
  if (old.use === 'quieting') {
    return `The old client got ${tokensIssued24h === 1 ? 'one token' : `${tokensIssued24h.toLocaleString('en')} tokens`} in the last 24 hours, so a pause of ${duration(old.seconds)} says little. Wait until it has been quiet for ${duration(old.pause_s)}, or make sure that no system uses it.`
  }
  if (replacement.use === 'silent') {
    return `The replacement has not asked for a token for ${duration(replacement.seconds)}. Check that it is still deployed and working.`
  }
  return undefined
}
