import { randomUUID } from 'node:crypto'
import { type Clock, systemClock } from '#shared/process/clock.ts'
import { areApart, type ClockOffsets, clockOffset_ms } from '#shared/revocation/clocks.ts'
import { entryKey } from '#shared/revocation/redis.ts'
import { PRODUCTION_TIMINGS, type Timings } from '#shared/revocation/timings.ts'
import type { Database } from '#shared/stores/postgres.ts'
import type { Redis } from '#shared/stores/redis.ts'
import { redisKeys } from '#shared/stores/redis-keys.ts'
import {
  type DatabaseState,
  type NamedServer,
  type RecentRevocations,
  readRecentRevocations,
  replaceNamedServer,
} from './recent-revocations.ts'
import {
  checkDatabase,
  compareWithRedis,
  fenceIfRestored,
  formatSeen,
  type LastSeen,
  parseSeen,
} from './restore-check.ts'
import { failRound, RoundFailed } from './round-failed.ts'
import { ADD, BEGIN, MARK, RoundBegin } from './round-scripts.ts'

/** The result of a round. */
export type Round =
  /** The server may be believed for another `lease_ms`. `added` of the `entries` had to be sent. */
  | { outcome: 'marked'; entries: number; added: number }
  /** Another process marked it a moment ago. */
  | { outcome: 'fresh' }
  /** Postgres named the server `from` and now names this one, `to`. Both are run_ids. */
  | { outcome: 'replaced'; from: string; to: string }
  /** Postgres has not named this server for long enough. */
  | { outcome: 'waiting' }
  /** Wall clocks differ by more than two minutes, so nothing that depends on time can be relied on. */
  | ({ outcome: 'clocks_apart' } & ClockOffsets)
  /** The database may have been restored: all access is refused until an operator confirms it. */
  | { outcome: 'fenced'; reason: string }
  | { outcome: 'failed'; reason: string }

/** The steps of a round. Anything can happen after each; tests make it happen. */
export type Step = 'begin' | 'read' | 'add' | 'mark'

export interface ReconcilerOptions {
  redis: Redis
  /** The primary, as a role that may update revocation_trust. */
  db: Database
  timings?: Timings
  /** This process's wall clock, to compare with those of the stores. */
  clock?: Clock
  /** Milliseconds that only ever go forward. */
  monotonic?: () => number
  /** Called after each step; a rejection fails the round. */
  onStep?: (step: Step) => Promise<void> | void
  /** Gives up a comparison, which can take much longer than the rest of a round. */
  stopping?: AbortSignal
  /** Called before a promoted standby is compared with Redis. */
  onComparison?: () => void
  /** Called with what each round has read. */
  onRead?: (revoked: Pick<RecentRevocations, 'clients' | 'keys'>) => void
}

const ENTRIES_PER_SCRIPT = 500
/** A marker younger than this share of the time between rounds need not be renewed. */
const FRESH_SHARE = 0.8

interface RoundStart {
  runId: string
  evicted: string
  time_ms: number
  /** How far the server's clock is ahead of this process's. */
  offset_ms: number
  tick: number
  nonce: string
  seen: LastSeen | undefined
}

/** What this process has added to a server, which has not been flushed since: it still has the nonce. */
interface Fill {
  runId: string
  evicted: string
  nonce: string
  entries: Set<string>
  /** All entries were sent at this moment, by the monotonic clock. */
  filledAt_ms: number
  /** Where the next read of tokens continues. Transaction ids of another place say nothing here. */
  watermark: string
  place: string
}

/** Brings a Redis server up to date with Postgres and marks it as such, a round at a time. */
export function createReconciler({
  redis,
  db,
  timings = PRODUCTION_TIMINGS,
  clock = systemClock,
  monotonic = () => performance.now(),
  onStep = () => {},
  stopping,
  onComparison = () => {},
  onRead = () => {},
}: ReconcilerOptions) {
  const nonceKey = redisKeys.revocationNonce(randomUUID())
  let fill: Fill | undefined
  const naming = createNaming({ db, timings, clock, monotonic })

  /** Returns undefined if the server was just marked and this process knows how long it has been named. */
  async function begin(): Promise<RoundStart | undefined> {
    const nonce = randomUUID()
    const before_ms = clock.now()
    const server = await askServer(redis, [nonceKey, nonce, timings.nonce_ms])
    const { runId, policy, evicted, time_ms, tick, oldNonce, marker, markerLeft_ms, seen } = server
    if (policy !== 'noeviction') throw new RoundFailed(`the eviction policy is ${policy}, not noeviction`)
    const isIntact = fill && fill.runId === runId && fill.evicted === evicted && fill.nonce === oldNonce
    fill = fill && isIntact ? { ...fill, nonce } : undefined
    const age_ms = timings.lease_ms - markerLeft_ms
    // Negative: the server's clock was set back.
    const isFresh = marker.startsWith(`${runId} `) && age_ms >= 0 && age_ms < FRESH_SHARE * timings.round_ms
    const redis_ms = clockOffset_ms(time_ms, { before_ms, after_ms: clock.now() })
    if (isFresh && naming.isSettled(runId) && !areApart({ redis_ms, postgres_ms: 0 })) return undefined
    return { runId, evicted, time_ms, offset_ms: redis_ms, tick, nonce, seen: parseSeen(seen) }
  }

  /** Reads what this process has not added before, or everything. */
  async function read(start: RoundStart, readAt_ms: number): ReturnType<typeof naming.read> {
    if (fill && readAt_ms - fill.filledAt_ms >= timings.refill_ms) fill = undefined
    const recent = await naming.read({ watermark: fill?.watermark, seen: start.seen?.id })
    if (!fill || fill.place === recent.database.place) return recent
    // A promoted standby gives transaction ids again that the lost primary had given.
    fill = undefined
    return read(start, readAt_ms)
  }

  function comparePromoted({ runId: server, nonce }: RoundStart): ReturnType<typeof compareWithRedis> {
    onComparison()
    const deadline_ms = timings.compare_ms
    return compareWithRedis({ redis, db, server, nonce: [nonceKey, nonce], deadline_ms, monotonic, stopping })
  }

  /** Adds what the server may lack. Returns how many entries it has from this process, and how many new. */
  async function add({ runId, evicted, nonce }: RoundStart, recent: RecentRevocations, readAt_ms: number) {
    const { entries, filledAt_ms } = fill ?? { entries: new Set<string>(), filledAt_ms: readAt_ms }
    const { watermark, database } = recent
    const missing = entryKeys(recent).filter((entry) => !entries.has(entry))
    fill = undefined
    for (let i = 0; i < missing.length; i += ENTRIES_PER_SCRIPT) {
      const batch = missing.slice(i, i + ENTRIES_PER_SCRIPT)
      const reply = await redis.eval(ADD, 0, nonceKey, nonce, timings.entry_ms, ...batch)
      if (reply !== 1) throw new RoundFailed('the server was flushed')
    }
    for (const entry of missing) entries.add(entry)
    fill = { runId, evicted, nonce, entries, filledAt_ms, watermark, place: database.place }
    return { entries: entries.size, added: missing.length }
  }

  async function attempt(): Promise<Round> {
    const start = await begin()
    await onStep('begin')
    if (!start) return { outcome: 'fresh' }
    const readAt_ms = monotonic()
    const recent = await read(start, readAt_ms)
    await onStep('read')
    const firstVerdict = checkDatabase(recent.database, start.seen)
    const verdict = firstVerdict === 'promoted' ? await comparePromoted(start) : firstVerdict
    const reason = await fenceIfRestored(db, recent.database, verdict).catch(failRound)
    if (reason !== undefined) {
      fill = undefined
      return { outcome: 'fenced', reason }
    }
    onRead(recent)
    const offsets = { postgres_ms: recent.offset_ms, redis_ms: start.offset_ms }
    if (areApart(offsets)) {
      fill = undefined
      return { outcome: 'clocks_apart', ...offsets }
    }
    if (recent.named.runId !== start.runId) {
      await naming.replace(recent.named, start.runId)
      return { outcome: 'replaced', from: recent.named.runId, to: start.runId }
    }
    if (!naming.isSettled(start.runId, readAt_ms)) return { outcome: 'waiting' }
    const counts = await add(start, recent, readAt_ms)
    await onStep('add')
    await markServer(redis, start, { nonceKey, lease_ms: timings.lease_ms, database: recent.database })
    await onStep('mark')
    return { outcome: 'marked', ...counts }
  }

  return {
    /** Never rejects. Not to be called again before it has resolved. */
    round: (): Promise<Round> =>
      attempt().catch((error: Error) => {
        fill = undefined
        return { outcome: 'failed', reason: error.message }
      }),
  }
}

async function askServer(redis: Redis, nonce: [key: string, value: string, life_ms: number]) {
  const { revocationTick, revocationMarker, revocationSeen } = redisKeys
  const reply = await redis.eval(BEGIN, 0, ...nonce, revocationTick, revocationMarker, revocationSeen)
  return RoundBegin.parse(JSON.parse(String(reply)))
}

/** @throws RoundFailed when the server is another one, was flushed, or evicts. */
async function markServer(
  redis: Redis,
  { runId, evicted, nonce, time_ms, tick }: RoundStart,
  { nonceKey, lease_ms, database }: { nonceKey: string; lease_ms: number; database: DatabaseState },
): Promise<void> {
  const marker = [redisKeys.revocationMarker, `${runId} ${tick}`, time_ms + lease_ms]
  const seen = [redisKeys.revocationSeen, formatSeen(database)]
  const reply = await redis.eval(MARK, 0, runId, evicted, nonceKey, nonce, ...marker, ...seen)
  if (reply !== 'marked') throw new RoundFailed(String(reply))
}

/** Follows which server Postgres names, and for how long this process has seen it named. */
function createNaming(parts: Required<Pick<ReconcilerOptions, 'db' | 'timings' | 'clock' | 'monotonic'>>) {
  const { db, timings, clock, monotonic } = parts
  let current: { named: NamedServer; seenAt_ms: number } | undefined
  return {
    /** Whether Postgres has named the server for `settle_ms`, as seen by this process. */
    isSettled: (runId: string, before_ms = monotonic()): boolean =>
      current?.named.runId === runId && before_ms - current.seenAt_ms >= timings.settle_ms,

    async read(
      since: Parameters<typeof readRecentRevocations>[2],
    ): Promise<RecentRevocations & { offset_ms: number }> {
      const before_ms = clock.now()
      const recent = await readRecentRevocations(db, timings.lookBack_ms, since).catch(failRound)
      const offset_ms = clockOffset_ms(recent.now_ms, { before_ms, after_ms: clock.now() })
      const { runId, since: namedSince } = recent.named
      const isUnchanged = current?.named.runId === runId && current.named.since === namedSince
      // After the read: by then the row was there, however long its commit took.
      if (!isUnchanged) current = { named: recent.named, seenAt_ms: monotonic() }
      return { ...recent, offset_ms }
    },

    async replace(old: NamedServer, runId: string): Promise<void> {
      const named = await replaceNamedServer(db, old, runId).catch(failRound)
      current = named && { named, seenAt_ms: monotonic() }
    },
  }
}

const entryKeys = ({ clients, tokens, keys }: RecentRevocations): string[] => [
  ...clients.map((id) => entryKey({ kind: 'client', id })),
  ...tokens.map((id) => entryKey({ kind: 'token', id })),
  ...keys.map((id) => entryKey({ kind: 'key', id })),
]
