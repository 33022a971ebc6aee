import { Option } from 'commander'
import { systemClock } from '#shared/process/clock.ts'
import type { Redis } from '#shared/stores/redis.ts'
import { redisReady } from '#shared/stores/redis-ready.ts'
import { heartbeat, linesTo } from '../progress.ts'
import {
  fileAt,
  type OperatorContext,
  type Outcome,
  required,
  type Subject,
  shownTime,
  table,
} from './commands.ts'
import type { Operator } from './operator.ts'
import {
  confirmDatabase,
  countActive,
  keepFenced,
  provenByRedis,
  type RevokedAgain,
  readSeen,
  revokeAgain,
  whyFenced,
} from './restore.ts'
import {
  type LoggedChange,
  type LoggedEvidence,
  type OpenLog,
  openLog,
  readLoggedEvidence,
} from './restore-log.ts'
import { readTime, TIME_FORMS } from './time.ts'

const REDIS_WAIT_MS = 5_000
const HOUR_MS = 3_600_000
const CHANGES_SHOWN = 50

const EXPLANATION = `
Run it after the database was restored to an earlier moment, before or after the services are started. It

  1. raises a fence: until "restore confirm", both services answer 503 to tokens, clients and sessions;
  2. revokes again every client, signing key and valid token that Redis or the logs prove to have been
     revoked;
  3. ends all sessions and invitations that were restored;
  4. lists the people and companies that the logs prove to have been erased, to erase again;
  5. lists what nothing proves, for you to repeat by hand.

It can be run again, with more logs. A service raises the fence itself when it notices the restore.`

export const RESTORE: Subject = {
  name: 'restore',
  description: 'Recover after restoring the database from a backup',
  commands: [
    {
      name: 'fence',
      doing: null,
      description: 'Block all access, and restore the revocations the database has lost',
      example: 'restore fence --since 2026-01-31T09:00:00Z --log api.log --log auth.log',
      options: [
        required(
          '--since <time>',
          `the point in time of the backup, or an earlier one: ${TIME_FORMS}`,
        ).argParser(readTime),
        new Option('--log <file>', 'log of a service as JSON lines; may be repeated')
          .argParser((file: string, files: string[]) => [...files, file])
          .default([]),
      ],
      explanation: EXPLANATION,
      ifInterrupted: 'All access may be blocked, with revocations still missing. Run the command again.',
      effect: async () =>
        'All access will be blocked until "restore confirm", and all sessions and invitations will end.',
      run: (context, { since, log }: { since: Date; log: string[] }) =>
        fence(
          context,
          since,
          log.map((file) => fileAt(context, file)),
        ),
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
        'Confirm that the database is complete and allow access again. Also needed after pg_upgrade, or after moving the database with a dump.',
      example: 'restore confirm',
      run: confirm,
    },
  ],
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
  const seen = await heartbeat(show, () => 'Asking Redis', askRedis(context, readSeen))
  const known = 'found' in seen ? seen.found : undefined
  const lowered = await confirmDatabase(context.db, { seen: known, by: context.by, show })
  const data = { lowered: lowered ?? null }
  const text = 'Confirmed. The services resume within seconds.'
  if (!('failed' in seen)) return { text, data }
  const warning =
    'If Redis remembers a later confirmation, they raise the fence again. In that case, confirm again.'
  return { text: `${text}\nRedis could not be read: ${seen.failed}. ${warning}`, data }
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

interface FenceReport {
  since: Date
  revoked: RevokedAgain
  /** Commands that repeat erasures. */
  erase: string[]
  /** Sentences. */
  unproven: string[]
  activeClients: number
  changes: LoggedChange[]
}

async function fence(context: OperatorContext, since: Date, files: readonly string[]): Promise<Outcome> {
  const { db, by } = context
  const show = linesTo(context.stderr)
  // A mistyped name must not block all access.
  await using closing = new AsyncDisposableStack()
  const logs: OpenLog[] = []
  for (const file of files) logs.push(closing.use(await openLog(file)))
  await keepFenced(db, { since, by, show })
  const now_ms = systemClock.now()
  const reading = readLoggedEvidence(logs, { since, now_ms })
  const logged = await heartbeat(show, () => 'Reading the logs', reading)
  const asking = askRedis(context, (redis) => provenByRedis(db, redis))
  const inRedis = await heartbeat(show, () => 'Asking Redis', asking)
  const proven = 'found' in inRedis ? [logged, inRedis.found] : [logged]
  const revoking = revokeAgain(db, proven, { now_ms, by })
  const revoked = await heartbeat(show, () => 'Revoking again, and ending all sessions', revoking)
  const redisFailure = 'failed' in inRedis ? inRedis.failed : undefined
  // Companies first: an owner can be erased once the company is.
  const ids = [...logged.erased].sort().reverse()
  const erase = ids.map((id) => `${id.startsWith('ven_') ? 'company' : 'person'} erase ${id} --yes`)
  const report: FenceReport = {
    since,
    revoked,
    erase,
    unproven: unprovenSince(since, logged, { redisFailure, now_ms }),
    activeClients: await countActive(db),
    changes: logged.changes,
  }
  return { text: inWords(report), data: report }
}

/** Returns a sentence for each thing that neither Redis nor the logs can prove. */
function unprovenSince(
  since: Date,
  { from, to, unreadable }: LoggedEvidence,
  { redisFailure, now_ms }: { redisFailure: string | undefined; now_ms: number },
): string[] {
  const found: string[] = []
  const inLog = 'Clients and keys that were revoked'
  if (!from || !to)
    found.push(
      `No log was given. ${inLog} over an hour ago may work again, and what was erased since then is back.`,
    )
  else if (from > since)
    found.push(`The logs begin at ${from.toISOString()}. ${inLog} before that may work again.`)
  if (to) found.push(`The logs end at ${to.toISOString()}. Later revocations are not in them.`)
  if (unreadable > 0) found.push(`${unreadable} lines of the logs are unreadable.`)
  if (redisFailure) found.push(`Redis could not be read, so it proves nothing: ${redisFailure}.`)
  else if (now_ms - since.getTime() > HOUR_MS || !from)
    found.push('Redis remembers a client for an hour, and nothing from before it was last emptied.')
  found.push(
    'Suspended or removed people, changed roles and new passwords are as they were at the restored point in time.',
  )
  return found
}

function inWords({ revoked, erase, unproven, activeClients, changes }: FenceReport): string {
  const { clients, keys, tokens } = revoked
  const again = [
    ...clients.map(({ clientId, vendorId, name }) => ({
      what: 'client',
      id: clientId,
      of: `${vendorId}, ${name}`,
    })),
    ...keys.map((id) => ({ what: 'key', id, of: '' })),
    ...tokens.map((id) => ({ what: 'token', id, of: '' })),
  ]
  const lost = changes.slice(0, CHANGES_SHOWN).map((change) => ({ ...change, at: change.at.toISOString() }))
  return `All access is blocked until you run "restore confirm". All sessions and invitations have ended.

Revoked again:
${table(again, { what: 'WHAT', id: 'ID', of: '' }, 'nothing')}

Erased since then, and back. Erase again (the audit trail of the admin command must be among the logs):
${erase.join('\n') || 'nothing'}

Not proven:
${unproven.map((sentence) => `- ${sentence}`).join('\n')}

Changes in the workspace since then (${changes.length} in the logs; all may be lost):
${table(lost, { at: 'TIME', vendorId: 'COMPANY', userId: 'PERSON', action: 'ACTION', subject: 'SUBJECT' }, 'none')}

${activeClients} clients are Active. Revoke those in doubt ("client revoke"), repeat lost changes, and confirm.`
}
