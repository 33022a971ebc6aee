import { setTimeout as sleep } from 'node:timers/promises'
import { decodeProtectedHeader } from 'jose'
import { OUTSIDE_BLIND_MS, OUTSIDE_MARGIN_MS } from './outside.ts'
import type { Random } from './random.ts'
import type { Recorder } from './recorder.ts'
import { dailyRead, outsideRead, tokenRequest } from './requests.ts'
import type { Site } from './site.ts'
import type { ClientSecret, Company, World } from './world.ts'

const BURST = 2
const RECENT = 60
const PAUSE_MS = 20
const LAST_LOOK_MAX = 400
/** A token that has expired is refused anyway, and proves nothing. */
const TOKEN_LIFE_MS = 900_000

/** What a revoke call has been answered for, and with what its holder may try it again. */
export interface Revoked {
  /** `client cli_…` */
  what: string
  answeredBy: string
  token: string
  client?: ClientSecret
}

export type RevokedThings = ReturnType<typeof createRevokedThings>

/** What is revoked, and everybody who goes on trying it. */
export function createRevokedThings(
  world: Pick<World, 'sites' | 'outside'>,
  company: Company,
  recorder: Recorder,
) {
  const { sites: ours, outside } = world
  const sites = [...ours, ...outside.sites]
  const all: (Revoked & { at_ms: number })[] = []

  async function tryAt(site: Site, entry: (typeof all)[number]) {
    const { what, answeredBy, client, at_ms } = entry
    if (site.service === 'auth' && !client) return
    const age_ms = performance.now() - at_ms
    if (age_ms > TOKEN_LIFE_MS || (site.service === 'outside' && age_ms <= OUTSIDE_MARGIN_MS)) return
    const { status, began_ms } = await recorder.call({
      operation: 'probe',
      site,
      ...requestTo(site, entry),
    })
    const accepted = status !== undefined && status < 300
    if (accepted && !mayLag(site, at_ms, began_ms))
      recorder.violation(
        `${what} was accepted at ${site.name} (${status}) by a request that began ` +
          `${(began_ms - at_ms).toFixed(1)} ms after ${answeredBy} had answered its revocation`,
      )
  }

  function requestTo({ service }: Site, { client, token }: Pick<Revoked, 'client' | 'token'>) {
    if (service === 'outside') return outsideRead(company, token)
    return service === 'auth' && client ? tokenRequest(client, 'analytics:read') : dailyRead(company, token)
  }

  /** Whether an outside verifier that gets no page may not have learned of it. */
  function mayLag({ service }: Site, at_ms: number, began_ms: number): boolean {
    if (service !== 'outside' || began_ms - at_ms > OUTSIDE_BLIND_MS) return false
    return !outside.witness.sawPages(at_ms, began_ms)
  }

  const burst = (to: readonly Site[], entry: (typeof all)[number]) => {
    for (const site of to) for (let i = 0; i < BURST; i += 1) void tryAt(site, entry)
  }

  return {
    /**
     * Call it when the head of the answer is there: the first burst goes out at once to every process of ours, and as
     * soon as none may be accepted there, to those outside.
     */
    add(revoked: Revoked) {
      const entry = { ...revoked, at_ms: performance.now() }
      all.push(entry)
      burst(ours, entry)
      setTimeout(() => burst(outside.sites, entry), OUTSIDE_MARGIN_MS + 1).unref()
    },
    /** Tries at a process until `stopped`, mostly what was revoked lately. */
    async keepTrying(site: Site, random: Random, stopped: () => boolean) {
      for (; !stopped(); await sleep(PAUSE_MS)) {
        const from = random.next() < 0.8 ? all.slice(-RECENT) : all
        if (from.length > 0) await tryAt(site, random.pick(from))
      }
    },
    /** Tries the newest 400 once more, at every process. */
    async lastLook() {
      await sleep(OUTSIDE_MARGIN_MS + 1)
      for (const entry of all.slice(-LAST_LOOK_MAX))
        await Promise.all(sites.map((site) => tryAt(site, entry)))
    },
    count: () => all.length,
  }
}

export const keyOf = (token: string): string => decodeProtectedHeader(token).kid as string
