import assert from 'node:assert/strict'
import knex, { type Knex } from 'knex'
import { insertUser, saveMembership } from '#shared/accounts/people.ts'
import { type ClientRecord, findClient } from '#shared/oauth/clients.ts'
import { newUserId } from '#shared/oauth/new-ids.ts'
import { systemClock } from '#shared/process/clock.ts'
import { createRevocation } from '#shared/revocation/revocation.ts'
import { createUsageCounts } from '#shared/usage/usage-counts.ts'
import { revokeArmed } from '../../apps/api/clients/armed-revocations.ts'
import { armRevocation } from '../../apps/api/clients/arming.ts'
import { rotationAnswer } from '../../apps/api/clients/rotation-answer.ts'
import { createTestClock } from './clock.ts'
import { createClient, createCompany } from './companies.ts'
import { silentLog } from './log.ts'
import { asAdmin, FAST } from './revocation.ts'
import { createTestDatabase, createTestRedis } from './servers.ts'

export const MINUTE_MS = 60_000
export const DAY_MS = 24 * 60 * MINUTE_MS
/** How long a process issues tokens without Postgres, from the client records that it remembers. */
const REMEMBERED_MS = 5 * MINUTE_MS

/** Every time that is stored. To let time pass, all of them are moved into the past, as Postgres has a clock of its own. */
const TIMES = {
  client_usage: ['first_used_at', 'last_used_at'],
  client_rotation: ['armed_at'],
  usage_writers: ['flushed_at', 'lost_at'],
  restore_fences: ['raised_at', 'lowered_at'],
  oauth_clients: ['created_at'],
}
/** What a backup of the database brings back. */
const RESTORED = ['client_usage', 'client_rotation', 'usage_writers'] as const

const moveBack = (owner: Knex, table: keyof typeof TIMES, by_ms: number) =>
  owner.raw(
    `update ${table} set ${TIMES[table].map((at) => `${at} = ${at} - interval '${by_ms / 1_000} seconds'`).join(', ')}`,
  )

export type Stores = Awaited<ReturnType<typeof openStores>>
type Process = Stores['processes'][number]

/** Two processes of the resource API, each with connections of its own. */
export async function openStores() {
  const database = await createTestDatabase()
  const redis = await createTestRedis()
  const owner = knex({ client: 'pg', connection: database.ownerUrl, pool: { min: 0, max: 1 } })
  // Without triggers, since the creation of a client is moved too.
  await owner.raw('set session_replication_role = replica')
  const processes = await Promise.all(
    [0, 1].map(async () => {
      const db = database.connect('api', { poolSize: 4 })
      const connection = await redis.connect('api')
      const revocation = createRevocation({ redis: connection, db, timings: FAST })
      return { db, redis: connection, revocation, clock: systemClock }
    }),
  )
  return {
    owner,
    processes,
    loseRedis: () => asAdmin(redis, (admin) => admin.flushall()),
    async [Symbol.asyncDispose]() {
      await owner.destroy()
      await redis[Symbol.asyncDispose]()
      await database.drop()
    },
  }
}

/** A token of the old client. Its time counts the time that was let pass. */
interface Use {
  at_ms: number
  fate: 'waiting' | 'stored' | 'lost'
}

export type RotationWorld = Awaited<ReturnType<typeof createRotationWorld>>

/** An armed client, a replacement in use, and two processes that count uses and try what is armed. */
export async function createRotationWorld({ owner, processes, loseRedis }: Stores, quietDays: number) {
  await owner.raw('truncate usage_writers, restore_fences, client_rotation')
  const { vendorId, clientId, replacement } = await createPair(owner, quietDays)
  const uses: Use[] = []
  let passed_ms = 0
  const now = () => Date.now() + passed_ms

  async function startCounter(index: 0 | 1) {
    const clock = createTestClock()
    const usage = createUsageCounts({ db: (processes[index] as Process).db, clock, log: silentLog() })
    await usage.start()
    let waiting: Use[] = []
    let storedAt_ms = now()
    const store = async () => {
      for (const use of waiting) {
        clock.set(use.at_ms - passed_ms)
        usage.count({ clientId, scope: 'analytics:read', address: '192.0.2.1' })
        use.fate = 'stored'
      }
      waiting = []
      // A process stores something each few seconds.
      clock.set(Date.now())
      usage.count({ clientId: replacement, scope: 'analytics:read', address: '192.0.2.2' })
      await usage.flush()
      storedAt_ms = now()
    }
    await store()
    return {
      store,
      async use() {
        if (now() - storedAt_ms > REMEMBERED_MS) await store()
        const use: Use = { at_ms: now(), fate: 'waiting' }
        uses.push(use)
        waiting.push(use)
      },
      kill() {
        for (const use of waiting) use.fate = 'lost'
      },
    }
  }
  const counters = [await startCounter(0), await startCounter(1)] as const

  async function pass(minutes: number): Promise<void> {
    passed_ms += minutes * MINUTE_MS
    for (const table of Object.keys(TIMES) as (keyof typeof TIMES)[])
      await moveBack(owner, table, minutes * MINUTE_MS)
  }

  /** Both processes try at once. Returns whether one of them revoked the client. */
  const judge = async () => (await Promise.all(processes.map(revokeArmed))).flat().length > 0

  async function takeBackup() {
    const rows: object[][] = []
    for (const table of RESTORED) rows.push(await owner(table))
    return { at_ms: now(), rows, uses: uses.filter(({ fate }) => fate === 'stored') }
  }
  let backup = await takeBackup()

  return {
    uses,
    now,
    pass,
    judge,
    loseRedis,
    use: (index: 0 | 1) => counters[index].use(),
    store: (index: 0 | 1) => counters[index].store(),
    async storeAll() {
      for (const counter of counters) await counter.store()
    },
    /** Kills a process that has just issued a token. */
    async kill(index: 0 | 1) {
      await counters[index].use()
      counters[index].kill()
      Object.assign(counters[index], await startCounter(index))
    },
    /** Lets the days pass since the last counted use, but for half a minute. */
    async approachEnd() {
      const last = uses.findLast(({ fate }) => fate === 'stored')
      const left_ms = last ? last.at_ms + quietDays * DAY_MS - now() : 0
      if (left_ms > MINUTE_MS) await pass(left_ms / MINUTE_MS - 0.5)
    },
    async backUp() {
      backup = await takeBackup()
    },
    async restore() {
      const known = backup.uses
      await owner.raw(`insert into restore_fences (reason) values ('test')`)
      for (const [index, table] of RESTORED.entries()) {
        await owner(table).delete()
        await owner(table).insert(backup.rows[index])
        await moveBack(owner, table, now() - backup.at_ms)
      }
      for (const use of uses) if (use.fate === 'stored' && !known.includes(use)) use.fate = 'lost'
      assert.equal(await judge(), false, 'revoked while the restore was not confirmed')
      await owner.raw('update restore_fences set lowered_at = clock_timestamp() where lowered_at is null')
    },
    async answer() {
      const [process] = processes as [Process]
      const old = (await findClient(process.db, { vendorId, clientId })) as ClientRecord
      return rotationAnswer(process, { vendorId, old })
    },
  }
}

async function createPair(owner: Knex, quietDays: number) {
  const [{ vendorId }, userId] = [await createCompany(owner), newUserId()]
  const email = `${userId}@people.example`.toLowerCase()
  await insertUser(owner, { userId, name: 'Olivia', email, passwordHash: '$argon2id$none' })
  await saveMembership(owner, { vendorId, userId, role: 'owner', status: 'active' })
  const created = { vendorId, createdAt: new Date(Date.now() - 90 * DAY_MS) }
  const { clientId } = await createClient(owner, created)
  const { clientId: replacement } = await createClient(owner, { ...created, replaces: clientId })
  const plan = { quietDays, armedAt: new Date(), armedBy: userId }
  await armRevocation(owner, { vendorId, clientId, name: 'A client' }, plan)
  return { vendorId, clientId, replacement }
}
