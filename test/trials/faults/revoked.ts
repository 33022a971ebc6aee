import { setTimeout as sleep } from 'node:timers/promises'
import { decodeProtectedHeader } from 'jose'
import type { ClientSecret, Company } from './people.ts'
import type { Random } from './random.ts'
import type { Recorder } from './recorder.ts'
import { dailyRead, tokenRequest } from './requests.ts'
import type { Site } from './site.ts'

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

/** What is revoked, and everybody who goes on trying it. */
export interface RevokedThings {
  /** Call it when the head of the answer is there: the first burst goes out at once, to every process. */
  add(revoked: Revoked): void
  /** Tries at a process until `stopped`, mostly what was revoked lately. */
  keepTrying(site: Site, random: Random, stopped: () => boolean): Promise<void>
  /** Tries the newest 400 once more, at every process. */
  lastLook(): Promise<void>
  count(): number
}

export function createRevokedThings(sites: Site[], company: Company, recorder: Recorder): RevokedThings {
  const all: (Revoked & { at_ms: number })[] = []

  async function tryAt(site: Site, { what, answeredBy, token, client, at_ms }: (typeof all)[number]) {
    if (site.service === 'auth' && !client) return
    if (performance.now() - at_ms > TOKEN_LIFE_MS) return
    const request =
      site.service === 'auth' && client ? tokenRequest(client, 'analytics:read') : dailyRead(company, token)
    const { status, began_ms } = await recorder.call({ operation: 'probe', site, ...request })
    if (status !== undefined && status < 300)
      recorder.violation(
        `${what} was accepted at ${site.name} (${status}) by a request that began ` +
          `${(began_ms - at_ms).toFixed(1)} ms after ${answeredBy} had answered its revocation`,
      )
  }

  return {
    add(revoked) {
      const entry = { ...revoked, at_ms: performance.now() }
      all.push(entry)
      for (const site of sites) for (let i = 0; i < BURST; i += 1) void tryAt(site, entry)
    },
    async keepTrying(site, random, stopped) {
      for (; !stopped(); await sleep(PAUSE_MS)) {
        const from = random.next() < 0.8 ? all.slice(-RECENT) : all
        if (from.length > 0) await tryAt(site, random.pick(from))
      }
    },
    async lastLook() {
      for (const entry of all.slice(-LAST_LOOK_MAX))
        await Promise.all(sites.map((site) => tryAt(site, entry)))
    },
    count: () => all.length,
  }
}

export const keyOf = (token: string): string => decodeProtectedHeader(token).kid as string
