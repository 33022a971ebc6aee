import { setTimeout as sleep } from 'node:timers/promises'
import { listSigningKeys } from '#shared/oauth/signing-keys.ts'
import type { Entry } from '#shared/revocation/subject.ts'
import { PRODUCTION_TIMINGS } from '#shared/revocation/timings.ts'
import type { Database, Queryable } from '#shared/stores/postgres.ts'
import type { Redis } from '#shared/stores/redis.ts'
import { redisKeys } from '#shared/stores/redis-keys.ts'
import { redisReady } from '#shared/stores/redis-ready.ts'
import { type OperatorActor, recordActivity } from '../../apps/api/accounts/activity.ts'
import { markClientRevoked } from '../../apps/api/clients/records.ts'
import { holdFence, lowerFence, raiseFence, readFence } from '../../apps/api/revocation/fences.ts'
import {
  confirmPlace,
  differInTimeline,
  filterIds,
  findLostEntries,
  insertLostTokens,
  type LastSeen,
  parseSeen,
  readPlaces,
  scanEntries,
} from '../../apps/api/revocation/restore-check.ts'
import { announce, heartbeat, linesTo, type ShowProgress } from '../progress.ts'
import { type CommandGroup, formatTable, formatTime, type OperatorContext, type Outcome } from './commands.ts'
import { markSigningKeyRevoked } from './keys.ts'
import { type OperatorAccess, OperatorError } from './operator.ts'
import { sinceOption } from './time.ts'

const REDIS_WAIT_MS = 5_000
/** No command revokes a token again. */
const TOKENS_IN_LOGS =
  'A token whose revocation only a log line proves can be accepted again for up to 19 minutes after that line.'

const EXPLANATION = `
Run it after the database was restored to an earlier moment, before or after the services are started. It

  1. raises a fence: until "restore confirm", both services answer 503 to tokens, clients and sessions;
  2. revokes again every client, signing key and valid token that Redis proves to have been revoked;
  3. ends all sessions, invitations and links to set a password that were restored.

The runbook (infra/runbook/backup.md) prints from the logs of the services what else to repeat. The command
can be run again. A service raises the fence itself when it notices the restore.`

export const RESTORE: CommandGroup = {
  name: 'restore',
  description: 'Recover after restoring the database from a backup',
  commands: [
    {
      name: 'fence',
      progress: null,
      description: 'Block all access, and restore the revocations that Redis still knows',
      example: 'restore fence --since 2026-01-31T09:00:00Z',
      options: [sinceOption('the point in time of the backup, or an earlier one').makeOptionMandatory()],
      explanation: EXPLANATION,
      ifInterrupted: 'All access may be blocked, with revocations still missing. Run the command again.',
      effect: async () =>
        'All access will be blocked until "restore confirm", and all sessions, invitations and links to set a password will end.',
      run: (context, { since }: { since: Date }) => fenceAndRevoke(context, since),
    },
    {
      name: 'status',
      description: 'Show whether access is blocked, and why',
      example: 'restore status',
      async run({ db }) {
        const block = await readBlock(db)
        return { text: statusText(block), data: block ?? null }
      },
    },
    {
      name: 'confirm',
      progress: null,
      description:
        'Confirm that the database is complete and allow access again. Also needed after pg_upgrade, or ' +
        'after moving the database with a dump.',
      example: 'restore confirm',
      run: confirm,
    },
  ],
}

/** What blocks all access. */
interface Block {
  /** When the fence was raised; null if no service has raised one yet. */
  raisedAt: Date | null
  reason: string
  /** Sentences that say what to run. */
  next: string
}

const AFTER_RESTORE =
  'If the database was restored, run "restore fence --since TIME" and repeat what the logs prove ' +
  '(infra/runbook/backup.md). After that, or if nothing was lost, run "restore confirm".'
const AFTER_PROMOTION =
  'The services compare it on their own. After a recovery to a point in time, run "restore fence --since TIME".'

/** Returns what blocks all access; undefined if nothing does. */
async function readBlock(db: Queryable): Promise<Block | undefined> {
  const fence = await readFence(db)
  if (fence) return { raisedAt: fence.raisedAt, reason: fence.reason, next: AFTER_RESTORE }
  const { place, confirmedPlace } = await readPlaces(db)
  if (place === confirmedPlace) return undefined
  if (!differInTimeline(place, confirmedPlace))
    return { raisedAt: null, reason: 'the database is a copy, or was restored', next: AFTER_RESTORE }
  const reason =
    'the database has not yet been compared with Redis, as after promoting a standby (see the log of the API)'
  return { raisedAt: null, reason, next: AFTER_PROMOTION }
}

function statusText(block: Block | undefined): string {
  if (!block) return 'There is no fence. Access is not blocked.'
  const { raisedAt, reason, next } = block
  const what = raisedAt
    ? `Access has been blocked by a fence since ${formatTime(raisedAt)}`
    : 'There is no fence, but all access is blocked'
  return `${what}: ${reason}.\n${next}`
}

interface FenceReport {
  since: Date
  revoked: RepeatedRevocations
  /** Sentences. */
  unproven: string[]
  activeClients: number
}

async function fenceAndRevoke(context: OperatorContext, since: Date): Promise<Outcome> {
  const { db, by } = context
  const show = linesTo(context.stderr)
  await raiseFenceEverywhere(db, { since, by, show })
  const reading = readRedis(context, (redis) => findLostRevocations(db, redis))
  const answer = await heartbeat(show, () => 'Asking Redis', reading)
  const lost = 'value' in answer ? answer.value : { clients: [], keys: [], tokens: [] }
  const report: FenceReport = {
    since,
    revoked: await repeatRevocations(db, lost, { by, show }),
    unproven: [
      'failure' in answer
        ? `Redis could not be read, so it proves nothing: ${answer.failure}.`
        : 'Redis remembers a revocation for an hour, and nothing from before it was last emptied.',
      'Everything else is as it was at the restored point in time: earlier revocations, erased people and ' +
        'companies, suspended or removed people, roles and passwords. Repeat what the logs prove ' +
        '(infra/runbook/backup.md).',
      TOKENS_IN_LOGS,
    ],
    activeClients: await countActiveClients(db),
  }
  return { text: reportText(report), data: report }
}

function reportText({ revoked, unproven, activeClients }: FenceReport): string {
  const rows = [
    ...revoked.clients.map(({ clientId, vendorId, name }) => {
      return { what: 'client', id: clientId, of: `${vendorId}, ${name}` }
    }),
    ...revoked.keys.map((id) => ({ what: 'key', id, of: '' })),
    ...revoked.tokens.map((id) => ({ what: 'token', id, of: '' })),
  ]
  return `All access is blocked until you run "restore confirm". All sessions and links of people have ended.

Revoked again:
${formatTable(rows, { what: 'WHAT', id: 'ID', of: '' }, 'nothing')}

Not proven:
${unproven.map((sentence) => `- ${sentence}`).join('\n')}

Active clients: ${activeClients}. \
Revoke those in doubt ("client revoke"), repeat lost changes, and confirm.`
}

const OPERATOR_REASON = 'an operator: admin restore fence'

/** Raises a fence if there is none. Once it resolves, every process of both services refuses all access. */
async function raiseFenceEverywhere(
  db: Database,
  { since, by, show }: { since: Date; by: OperatorActor; show: ShowProgress },
): Promise<void> {
  await db.transaction(async (transaction) => {
    await raiseFence(transaction, OPERATOR_REASON)
    await recordActivity(transaction, { vendorId: null, by }, 'database.fenced', 'database', { since })
  })
  await waitUntilFenced(db, show)
}

/** Resolves once no process trusts anything that Redis vouched for before the fence. */
async function waitUntilFenced(db: Database, show: ShowProgress): Promise<void> {
  const fence = await readFence(db)
  const { settle_ms } = PRODUCTION_TIMINGS
  const wait_ms = Math.min(settle_ms, settle_ms - (fence?.age_ms ?? settle_ms))
  if (wait_ms <= 0) return
  const text = `Waiting ${Math.ceil(wait_ms / 1_000)} s until every process has noticed the fence`
  await announce(show, text, sleep(wait_ms))
}

/** Returns the value that `read` reads, or why Redis could not be read: neither command requires Redis. */
async function readRedis<T>(
  operator: OperatorAccess,
  read: (redis: Redis) => Promise<T>,
): Promise<{ value: T } | { failure: string }> {
  try {
    const redis = operator.redis()
    await redisReady(redis, REDIS_WAIT_MS)
    return { value: await read(redis) }
  } catch (error) {
    return { failure: (error as Error).message.replace(/\.$/, '') }
  }
}

/** Reads what Redis remembers about the database. Rejects if Redis fails. */
const readLastSeen = async (redis: Redis): Promise<LastSeen | undefined> =>
  parseSeen((await redis.get(redisKeys.revocationSeen)) ?? '')

/** The ids of clients and signing keys, and the `jti` of tokens. */
interface LostRevocations {
  clients: string[]
  keys: string[]
  tokens: string[]
}

/** Reads the revocations that Redis has and Postgres lacks. Rejects if Redis fails. */
export async function findLostRevocations(db: Database, redis: Redis): Promise<LostRevocations> {
  const lastSeen = await readLastSeen(redis)
  const lost: Entry[] = []
  for await (const entries of scanEntries(redis)) lost.push(...(await findLostEntries(db, entries)))
  // Its entry may have expired. The id says nothing of its kind.
  const newest = lastSeen ? [lastSeen.id] : []
  return {
    clients: [...newest, ...filterIds('client', lost)],
    keys: [...newest, ...filterIds('key', lost)],
    tokens: filterIds('token', lost),
  }
}

interface RepeatedRevocations {
  clients: { clientId: string; vendorId: string; name: string }[]
  keys: string[]
  tokens: string[]
}

/**
 * Revokes again everything in the database whose revocation was lost, and ends every restored session and
 * link. Call it behind a fence, which is raised again if "restore confirm" has lowered it meanwhile: the
 * services learn of the revocations when the fence is lowered. Resolves once every process of both services
 * refuses all access.
 */
export async function repeatRevocations(
  db: Database,
  lost: LostRevocations,
  { by, show }: { by: OperatorActor; show: ShowProgress },
): Promise<RepeatedRevocations> {
  const revoking = db.transaction(async (transaction) => {
    await holdFence(transaction)
    const clients = await revokeClients(transaction, lost.clients, by)
    const keys: string[] = []
    for (const { kid, revokedAt } of await listSigningKeys(transaction))
      if (!revokedAt && lost.keys.includes(kid) && (await markSigningKeyRevoked(transaction, kid)))
        keys.push(kid)
    const tokens = await insertLostTokens(transaction, lost.tokens)
    const { rowCount: sessions } = await transaction.raw('delete from sessions')
    const { rowCount: invitations } = await transaction.raw('delete from invitations')
    await transaction.raw('delete from password_resets')
    const counts = { clients: clients.length, tokens: tokens.length, sessions, invitations }
    await recordActivity(transaction, { vendorId: null, by }, 'database.repaired', 'database', {
      ...counts,
      keys,
    })
    // Last: waitUntilFenced counts from when it was raised, processes notice it once this has committed.
    await raiseFence(transaction, OPERATOR_REASON)
    return { clients, keys, tokens }
  })
  const revoked = await heartbeat(show, () => 'Revoking again, and ending all sessions', revoking)
  await waitUntilFenced(db, show)
  return revoked
}

async function revokeClients(
  db: Queryable,
  clientIds: string[],
  by: OperatorActor,
): Promise<RepeatedRevocations['clients']> {
  const { rows } = await db.raw(
    `select client_id as "clientId", vendor_id as "vendorId", name from oauth_clients
     where client_id = any(?::text[]) and status = 'Active'`,
    [clientIds],
  )
  for (const { clientId, vendorId, name } of rows as RepeatedRevocations['clients']) {
    await markClientRevoked(db, { vendorId, clientId, revokedBy: null })
    await recordActivity(db, { vendorId, by }, 'client.revoked', clientId, { name })
  }
  return rows
}

async function countActiveClients(db: Queryable): Promise<number> {
  const { rows } = await db.raw(`select count(*) as active from oauth_clients where status = 'Active'`)
  return rows[0].active
}

async function confirm(context: OperatorContext): Promise<Outcome> {
  const show = linesTo(context.stderr)
  const answer = await heartbeat(show, () => 'Asking Redis', readRedis(context, readLastSeen))
  const lastSeen = 'value' in answer ? answer.value : undefined
  const lowered = await confirmDatabase(context.db, { lastSeen, by: context.by, show })
  const data = { lowered: lowered ?? null }
  const text = `Confirmed. The services resume within seconds. ${TOKENS_IN_LOGS}`
  if (!('failure' in answer)) return { text, data }
  const warning =
    'If Redis remembers a later confirmation, they raise the fence again. In that case, confirm again.'
  return { text: `${text}\nRedis could not be read: ${answer.failure}. ${warning}`, data }
}

/**
 * Confirms that the database is complete, and lowers the fence. Returns the fence that it lowered.
 * @param lastSeen What Redis remembers: the confirmation must be later than the one in it.
 * @throws OperatorError while the database is compared with Redis, since revocations may be missing.
 */
async function confirmDatabase(
  db: Database,
  { lastSeen, by, show }: { lastSeen: LastSeen | undefined; by: OperatorActor; show: ShowProgress },
): Promise<Pick<Block, 'raisedAt' | 'reason'> | undefined> {
  const fence = await readFence(db)
  const { place, confirmedPlace } = await readPlaces(db)
  if (!fence && differInTimeline(place, confirmedPlace))
    throw new OperatorError(
      'Nothing was confirmed: the services compare a promoted database with Redis on their own, and then ' +
        'allow access or raise a fence. After a recovery to a point in time, or to skip the comparison, ' +
        'run "restore fence" first.',
    )
  await waitUntilFenced(db, show)
  await db.transaction(async (transaction) => {
    await lowerFence(transaction)
    await confirmPlace(transaction, { after_ms: lastSeen?.confirmedAt_ms ?? 0 })
    await recordActivity(transaction, { vendorId: null, by }, 'database.confirmed', 'database')
  })
  return fence && { raisedAt: fence.raisedAt, reason: fence.reason }
}
