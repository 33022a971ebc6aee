import { setTimeout as sleep } from 'node:timers/promises'
import { listSigningKeys } from '#shared/oauth/signing-keys.ts'
import { systemClock } from '#shared/process/clock.ts'
import { raiseFence } from '#shared/revocation/fence.ts'
import type { Entry } from '#shared/revocation/subject.ts'
import { PRODUCTION_TIMINGS } from '#shared/revocation/timings.ts'
import type { Database, Queryable } from '#shared/stores/postgres.ts'
import type { Redis } from '#shared/stores/redis.ts'
import { redisKeys } from '#shared/stores/redis-keys.ts'
import { redisReady } from '#shared/stores/redis-ready.ts'
import { type OperatorActor as Actor, record } from '../../apps/api/accounts/activity.ts'
import { markClientRevoked } from '../../apps/api/clients/records.ts'
import {
  differInTimeline,
  heldEntries,
  idsOf,
  insertLostTokens,
  type LastSeen,
  lostAmong,
  parseSeen,
} from '../../apps/api/revocation/restore-check.ts'
import { announce, heartbeat, linesTo, type Show } from '../progress.ts'
import { type OperatorContext, type Outcome, required, type Subject, shownTime, table } from './commands.ts'
import { markSigningKeyRevoked } from './keys.ts'
import { type Operator, OperatorError } from './operator.ts'
import { readTime, TIME_FORMS } from './time.ts'

const REDIS_WAIT_MS = 5_000

const EXPLANATION = `
Run it after the database was restored to an earlier moment, before or after the services are started. It

  1. raises a fence: until "restore confirm", both services answer 503 to tokens, clients and sessions;
  2. revokes again every client, signing key and valid token that Redis proves to have been revoked;
  3. ends all sessions and invitations that were restored.

The runbook (infra/runbook/backup.md) prints from the logs of the services what else to repeat. The command
can be run again. A service raises the fence itself when it notices the restore.`

export const RESTORE: Subject = {
  name: 'restore',
  description: 'Recover after restoring the database from a backup',
  commands: [
    {
      name: 'fence',
      doing: null,
      description: 'Block all access, and restore the revocations that Redis still knows',
      example: 'restore fence --since 2026-01-31T09:00:00Z',
      options: [
        required(
          '--since <time>',
          `the point in time of the backup, or an earlier one: ${TIME_FORMS}`,
        ).argParser(readTime),
      ],
      explanation: EXPLANATION,
      ifInterrupted: 'All access may be blocked, with revocations still missing. Run the command again.',
      effect: async () =>
        'All access will be blocked until "restore confirm", and all sessions and invitations will end.',
      run: (context, { since }: { since: Date }) => fence(context, since),
    },
    {
      name: 'status',
      description: 'Show whether access is blocked, and why',
      example: 'restore status',
      async run({ db }) {
        const fence = await whyFenced(db)
        return { text: statusText(fence), data: fence ?? null }
      },
    },
    {
      name: 'confirm',
      doing: null,
      description:
        'Confirm that the database is complete and allow access again. Also needed after pg_upgrade, or ' +
        'after moving ' +
        'the database with a dump.',
      example: 'restore confirm',
      run: confirm,
    },
  ],
}

interface FenceReport {
  since: Date
  revoked: RevokedAgain
  /** Sentences. */
  unproven: string[]
  activeClients: number
}

async function fence(context: OperatorContext, since: Date): Promise<Outcome> {
  const { db, by } = context
  const show = linesTo(context.stderr)
  await keepFenced(db, { since, by, show })
  const reading = askRedis(context, (redis) => provenByRedis(db, redis))
  const answer = await heartbeat(show, () => 'Asking Redis', reading)
  const proven = 'found' in answer ? answer.found : { clients: [], keys: [], tokens: [] }
  const revoking = revokeAgain(db, proven, { now_ms: systemClock.now(), by })
  const revoked = await heartbeat(show, () => 'Revoking again, and ending all sessions', revoking)
  const report: FenceReport = {
    since,
    revoked,
    unproven: [
      'failed' in answer
        ? `Redis could not be read, so it proves nothing: ${answer.failed}.`
        : 'Redis remembers a revocation for an hour, and nothing from before it was last emptied.',
      'Everything else is as it was at the restored point in time: earlier revocations, erased people and ' +
        'companies, ' +
        'suspended or removed people, roles and passwords. Repeat what the logs prove ' +
        '(infra/runbook/backup.md).',
    ],
    activeClients: await countActive(db),
  }
  return { text: inWords(report), data: report }
}

function inWords({ revoked: { clients, keys, tokens }, unproven, activeClients }: FenceReport): string {
  const again = [
    ...clients.map(({ clientId, vendorId, name }) => ({
      what: 'client',
      id: clientId,
      of: `${vendorId}, ${name}`,
    })),
    ...keys.map((id) => ({ what: 'key', id, of: '' })),
    ...tokens.map((id) => ({ what: 'token', id, of: '' })),
  ]
  return `All access is blocked until you run "restore confirm". All sessions and invitations have ended.

Revoked again:
${table(again, { what: 'WHAT', id: 'ID', of: '' }, 'nothing')}

Not proven:
${unproven.map((sentence) => `- ${sentence}`).join('\n')}

${activeClients} clients are Active. \
Revoke those in doubt ("client revoke"), repeat lost changes, and confirm.`
}

function statusText(fence: Awaited<ReturnType<typeof whyFenced>>): string {
  if (!fence) return 'There is no fence. Access is not blocked.'
  const { raisedAt, reason } = fence
  return raisedAt
    ? `Access has been blocked by a fence since ${shownTime(raisedAt)}: ${reason}.`
    : `There is no fence, but all access is blocked: ${reason}.`
}

async function confirm(context: OperatorContext): Promise<Outcome> {
  const show = linesTo(context.stderr)
  const answer = await heartbeat(show, () => 'Asking Redis', askRedis(context, readSeen))
  const seen = 'found' in answer ? answer.found : undefined
  const lowered = await confirmDatabase(context.db, { seen, by: context.by, show })
  const data = { lowered: lowered ?? null }
  const text = 'Confirmed. The services resume within seconds.'
  if (!('failed' in answer)) return { text, data }
  const warning =
    'If Redis remembers a later confirmation, they raise the fence again. In that case, confirm again.'
  return { text: `${text}\nRedis could not be read: ${answer.failed}. ${warning}`, data }
}

/** Neither command requires Redis. `failed` says why it could not be read. */
async function askRedis<Found>(
  operator: Operator,
  ask: (redis: Redis) => Promise<Found>,
): Promise<{ found: Found } | { failed: string }> {
  try {
    const redis = operator.redis()
    await redisReady(redis, REDIS_WAIT_MS)
    return { found: await ask(redis) }
  } catch (error) {
    return { failed: (error as Error).message.replace(/\.$/, '') }
  }
}

/** Revocations: the ids of clients and signing keys, and the `jti` of tokens. */
interface Proven {
  clients: string[]
  keys: string[]
  tokens: string[]
}

export interface RevokedAgain {
  clients: { clientId: string; vendorId: string; name: string }[]
  keys: string[]
  tokens: string[]
}

export interface Fence {
  raisedAt: Date
  reason: string
}

/** Returns the current fence; undefined if there is none. */
export async function standingFence(db: Queryable): Promise<Fence | undefined> {
  const { rows } = await db.raw(
    `select raised_at as "raisedAt", reason from restore_fences where lowered_at is null`,
  )
  return rows[0]
}

/** Returns why all access is blocked, even if no service has raised a fence yet; undefined if it is not. */
export async function whyFenced(
  db: Queryable,
): Promise<Fence | { raisedAt: null; reason: string } | undefined> {
  const fence = await standingFence(db)
  if (fence) return fence
  const { place, confirmedPlace } = await readPlaces(db)
  if (place === confirmedPlace) return undefined
  const reason = differInTimeline(place, confirmedPlace)
    ? 'the database has not yet been compared with Redis, as after promoting a standby ' +
      '(see the log of the API)'
    : 'the database is a copy, or was restored'
  return { raisedAt: null, reason }
}

/** Returns the place of the database (empty for a standby), and that where it was confirmed as complete. */
async function readPlaces(db: Queryable): Promise<{ place: string; confirmedPlace: string }> {
  const { rows } = await db.raw(
    `select coalesce(database_place(), '') as place, place as "confirmedPlace" from revocation_trust`,
  )
  return rows[0]
}

/** Raises a fence if there is none. Once it resolves, every process of both services refuses all access. */
export async function keepFenced(
  db: Database,
  { since, by, show }: { since: Date; by: Actor; show: Show },
): Promise<void> {
  await db.transaction(async (transaction) => {
    await raiseFence(transaction, 'an operator: admin restore fence')
    await record(transaction, { vendorId: null, by }, 'database.fenced', 'database', { since })
  })
  await everyProcessFenced(db, show)
}

/** Resolves once no process trusts anything that Redis vouched for before the fence. */
async function everyProcessFenced(db: Database, show: Show): Promise<void> {
  const { rows } = await db.raw(
    `select (extract(epoch from clock_timestamp() - raised_at) * 1000)::bigint as age_ms
     from restore_fences where lowered_at is null`,
  )
  const { settle_ms } = PRODUCTION_TIMINGS
  const wait_ms = Math.min(settle_ms, settle_ms - (rows[0]?.age_ms ?? settle_ms))
  if (wait_ms <= 0) return
  const text = `Waiting ${Math.ceil(wait_ms / 1_000)} s until every process has noticed the fence`
  await announce(show, text, sleep(wait_ms))
}

/** Reads what Redis remembers about the database. Rejects if Redis fails. */
export const readSeen = async (redis: Redis): Promise<LastSeen | undefined> =>
  parseSeen((await redis.get(redisKeys.revocationSeen)) ?? '')

/** Reads the revocations that Redis has and Postgres lacks. Rejects if Redis fails. */
export async function provenByRedis(db: Database, redis: Redis): Promise<Proven> {
  const seen = await readSeen(redis)
  const lost: Entry[] = []
  for await (const entries of heldEntries(redis)) lost.push(...(await lostAmong(db, entries)))
  const newest = seen ? [seen.id] : []
  return {
    clients: [...newest, ...idsOf('client', lost)],
    keys: [...newest, ...idsOf('key', lost)],
    tokens: idsOf('token', lost),
  }
}

/**
 * Revokes again everything in the database whose revocation was lost, and ends every restored session and
 * invitation. Call it behind a fence. The services learn of it when the fence is lowered.
 */
export async function revokeAgain(
  db: Database,
  proven: Proven,
  { now_ms, by }: { now_ms: number; by: Actor },
): Promise<RevokedAgain> {
  return db.transaction(async (transaction) => {
    const clients = await revokeClients(transaction, proven.clients, by)
    const keys: string[] = []
    for (const { kid, revokedAt } of await listSigningKeys(transaction))
      if (!revokedAt && proven.keys.includes(kid) && (await markSigningKeyRevoked(transaction, kid, now_ms)))
        keys.push(kid)
    const tokens = await insertLostTokens(transaction, proven.tokens)
    const { rowCount: sessions } = await transaction.raw('delete from sessions')
    const { rowCount: invitations } = await transaction.raw('delete from invitations')
    const counts = { clients: clients.length, tokens: tokens.length, sessions, invitations }
    await record(transaction, { vendorId: null, by }, 'database.repaired', 'database', { ...counts, keys })
    return { clients, keys, tokens }
  })
}

async function revokeClients(
  db: Queryable,
  clientIds: string[],
  by: Actor,
): Promise<RevokedAgain['clients']> {
  const { rows } = await db.raw(
    `select client_id as "clientId", vendor_id as "vendorId", name from oauth_clients
     where client_id = any(?::text[]) and status = 'Active'`,
    [clientIds],
  )
  for (const { clientId, vendorId, name } of rows as RevokedAgain['clients']) {
    await markClientRevoked(db, { vendorId, clientId, revokedBy: null })
    await record(db, { vendorId, by }, 'client.revoked', clientId, { name })
  }
  return rows
}

/** Returns the number of Active clients according to the database. */
export async function countActive(db: Queryable): Promise<number> {
  const { rows } = await db.raw(`select count(*) as active from oauth_clients where status = 'Active'`)
  return rows[0].active
}

/**
 * Confirms that the database is complete, and lowers the fence. The services resume within seconds.
 * @param seen What Redis remembers. The confirmation is dated later, even if the clock of Postgres is behind.
 * @throws OperatorError while the database is compared with Redis, since revocations may be missing.
 */
export async function confirmDatabase(
  db: Database,
  { seen, by, show }: { seen: LastSeen | undefined; by: Actor; show: Show },
): Promise<Fence | undefined> {
  const fence = await standingFence(db)
  const { place, confirmedPlace } = await readPlaces(db)
  if (!fence && differInTimeline(place, confirmedPlace))
    throw new OperatorError(
      'Nothing was confirmed: the services compare a promoted database with Redis on their own, and then ' +
        'allow ' +
        'access or raise a fence. After a recovery to a point in time, or to skip the comparison, run ' +
        '"restore fence" first.',
    )
  await everyProcessFenced(db, show)
  await db.transaction(async (transaction) => {
    await transaction.raw(
      `with lowered as (update restore_fences set lowered_at = clock_timestamp() where lowered_at is null)
     update revocation_trust set place = database_place(),
       confirmed_at = greatest(clock_timestamp(), to_timestamp(? / 1000.0))`,
      [(seen?.confirmedAt_ms ?? 0) + 1],
    )
    await record(transaction, { vendorId: null, by }, 'database.confirmed', 'database')
  })
  return fence
}
