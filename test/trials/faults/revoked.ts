import { setTimeout as sleep } from 'node:timers/promises'
import { OUTSIDE_BLIND_MS, OUTSIDE_MARGIN_MS } from './outside.ts'
import type { Random } from './random.ts'
import type { Recorder } from './recorder.ts'
import type { Site } from './site.ts'
import { type Credentials, dailyCall, tokenCall, type World } from './world.ts'

const BURST = 2
const RECENT = 60
const LAST_LOOK_MAX = 400
/** A token that has expired is refused anyway, and proves nothing. */
const TOKEN_LIFE_MS = 900_000

/** What was revoked, and what its holder may try it with again. */
export interface Revoked {
  /** `client cli_…` */
  what: string
  answeredBy: string
  token: string
  client?: Credentials
}

export type RevokedThings = ReturnType<typeof createRevokedThings>

/** Keeps what is revoked, and tries it again and again. */
export function createRevokedThings({ services, outside, sites, company }: World, recorder: Recorder) {
  const entries: (Revoked & { at_ms: number })[] = []

  async function tryAt(site: Site, { what, answeredBy, token, client, at_ms }: (typeof entries)[number]) {
    const isOutside = site.service === 'outside'
    const age_ms = performance.now() - at_ms
    if (age_ms > TOKEN_LIFE_MS || (isOutside && age_ms <= OUTSIDE_MARGIN_MS)) return
    const request = site.service === 'auth' ? client && tokenCall(client) : dailyCall(company, token)
    if (!request) return
    const { status, good, began_ms } = await recorder.call({ operation: 'probe', site, ...request })
    const after_ms = began_ms - at_ms
    // An outside verifier that gets no page may not have learned of it.
    const mayLag = isOutside && after_ms <= OUTSIDE_BLIND_MS && outside.missedPageSince(at_ms)
    if (good && !mayLag)
      recorder.violation(
        `${what} was accepted at ${site.name} (${status}) by a request that began ` +
          `${after_ms.toFixed(1)} ms after ${answeredBy} had answered its revocation`,
      )
  }

  const burst = (to: readonly Site[], entry: (typeof entries)[number]) => {
    for (const site of to) for (let i = 0; i < BURST; i += 1) void tryAt(site, entry)
  }

  return {
    /**
     * Call it when the head of the answer has arrived. It tries the revoked thing at once at every process of
     * ours, and at the outside service as soon as that may no longer accept it.
     */
    add(revoked: Revoked) {
      const entry = { ...revoked, at_ms: performance.now() }
      entries.push(entry)
      burst(services, entry)
      setTimeout(() => burst([outside], entry), OUTSIDE_MARGIN_MS + 1).unref()
    },
    /** Tries one of them at a process, mostly what was revoked lately. */
    async tryAny(site: Site, random: Random) {
      const from = random.next() < 0.8 ? entries.slice(-RECENT) : entries
      if (from.length > 0) await tryAt(site, random.pick(from))
    },
    /** Tries the newest 400 once more, at every process. */
    async lastLook() {
      await sleep(OUTSIDE_MARGIN_MS + 1)
      for (const entry of entries.slice(-LAST_LOOK_MAX))
        await Promise.all(sites.map((site) => tryAt(site, entry)))
    },
    count: () => entries.length,
  }
}
