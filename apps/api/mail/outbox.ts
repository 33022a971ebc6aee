import type { Clock } from '#shared/process/clock.ts'
import { FENCED } from '#shared/revocation/fence.ts'
import { bindings, type Database, type Queryable } from '#shared/stores/postgres.ts'
import { MANAGER_ROLES } from '../accounts/people.ts'
import { purgeByTime } from '../stores/purge.ts'
import { IS_URGENT, type MailDetails, type MailKind } from './kinds.ts'

/* The table of mails. Its times are those of Postgres, so that processes agree on them. */

/** A process that has not reported by then has ended, and another sends its mails. */
const CLAIM_LASTS = "interval '90 seconds'"
/** In case only some of the processes have an SMTP_URL. */
const UNSENT_KEPT_MS = 3_600_000
/** How long it takes until someone may be told about the same thing again. */
const REMEMBERED_MS = 30 * 86_400_000

export interface OutgoingMail<Kind extends MailKind = MailKind> {
  /** Also the left side of its Message-ID, so that a repeat has the same. */
  mailId: string
  kind: Kind
  topic: string
  userId: string | null
  vendorId: string | null
  detail: MailDetails[Kind]
  /** This one included. */
  attempts: number
  /** Since it was written down. */
  age_s: number
  /** The process that claimed it. */
  sender: string
}

/**
 * Writes a mail down, to be sent once the transaction is committed. Does nothing if the person got one of
 * this kind and topic in the last 30 days. What is for no one yet goes first, since it takes no mail server.
 */
export async function addMail<Kind extends MailKind>(
  transaction: Queryable,
  kind: Kind,
  mail: { topic: string; userId: string | null; vendorId?: string; detail: MailDetails[Kind] },
): Promise<void> {
  await transaction.raw(
    `insert into mails (kind, topic, user_id, vendor_id, detail, is_urgent, turn_at)
     values (:kind, :topic, :userId, :vendorId, :detail, :isUrgent,
       case when :userId::text is null then clock_timestamp() - interval '100 years' else now() end)
     on conflict (user_id, kind, md5(topic)) do nothing`,
    { vendorId: null, ...mail, kind, detail: JSON.stringify(mail.detail), isUrgent: IS_URGENT[kind] },
  )
}

/** Something to tell the managers of a company. */
export interface CompanyNotice<Kind extends MailKind> {
  vendorId: string
  /** Unlike that of any other company. */
  topic: string
  detail: MailDetails[Kind]
}

/** What a job that writes notices takes. */
export interface NoticeNeeds {
  db: Database
  clock: Clock
  isEnding: () => boolean
}

/**
 * Writes a mail about each notice to whoever manages its company, its owner and active admins, unless the
 * company got one of this kind and topic in the last 30 days. The mails of a company take turns that are a
 * second apart, so that many of them hold up no one else's. None waits for those that were put off.
 */
export async function mailManagers<Kind extends MailKind>(
  transaction: Queryable,
  kind: Kind,
  notices: readonly CompanyNotice<Kind>[],
): Promise<void> {
  if (notices.length === 0) return
  const companies = [...new Set(notices.map(({ vendorId }) => vendorId))]
  await transaction.raw(
    `insert into mails (kind, topic, user_id, vendor_id, detail, is_urgent, turn_at)
     with waiting as (
       select vendor_id, max(turn_at) + interval '1 second' as turn_at from mails
       where vendor_id = any(?) and attempts = 0 and turn_at > now() - interval '1 second' group by vendor_id)
     select ?, n.topic, m.user_id, m.vendor_id, n.detail, ?, greatest(now(), w.turn_at)
       + interval '1 second' * (row_number() over (partition by m.vendor_id order by n.topic) - 1)
     from jsonb_to_recordset(?) as n ("vendorId" text, topic text, detail jsonb)
       join memberships m on m.vendor_id = n."vendorId" and m.status = 'active' and m.role = any(?)
       left join waiting w on w.vendor_id = m.vendor_id
     where not exists
       (select from mails where vendor_id = m.vendor_id and kind = ? and md5(topic) = md5(n.topic))
     order by n.topic, m.user_id
     on conflict (user_id, kind, md5(topic)) do nothing`,
    bindings([companies, kind, IS_URGENT[kind], JSON.stringify(notices), MANAGER_ROLES, kind]),
  )
}

/**
 * Takes up to `limit` mails that are due, the urgent ones first, for this process to send. Returns none while
 * another process is sending, and while a restored database awaits confirmation: whoever is to get them may
 * have been removed since.
 * @param sender names this process.
 */
export async function claimMails(
  db: Database,
  { sender, limit }: { sender: string; limit: number },
): Promise<OutgoingMail[]> {
  return db.transaction(async (transaction) => {
    const { rows: locks } = await transaction.raw(
      `select pg_try_advisory_xact_lock(hashtextextended('sending mail', 0)) as "isOurs"`,
    )
    if (!locks[0].isOurs) return []
    const { rows } = await transaction.raw(
      `update mails set due_at = now() + ${CLAIM_LASTS}, attempts = attempts + 1, sender = :sender
       where mail_id in (
         select mail_id from mails where due_at <= now() and not (select ${FENCED})
           and not exists (select from mails where sender is not null and due_at > now())
         order by is_urgent desc, turn_at limit :limit for update skip locked)
       returning mail_id as "mailId", kind, topic, user_id as "userId", vendor_id as "vendorId", detail,
         attempts, sender, extract(epoch from now() - created_at)::float8 as age_s`,
      { sender, limit },
    )
    return rows
  })
}

/** Marks a claimed mail as sent, or as not to be sent. Forgets what it told. */
export async function closeMail(
  db: Queryable,
  mailId: string,
  { isSent }: { isSent: boolean },
): Promise<void> {
  await db.raw(
    `update mails set due_at = null, sender = null, detail = '{}', sent_at = case when ? then now() end
     where mail_id = ?`,
    [isSent, mailId],
  )
}

/** Removes up to `limit` urgent mails of a kind that wait, the oldest first, claimed or not. Returns them. */
export async function takeMails<Kind extends MailKind>(
  transaction: Queryable,
  kind: Kind,
  limit: number,
): Promise<{ mailId: string; detail: MailDetails[Kind] }[]> {
  const { rows } = await transaction.raw(
    `delete from mails where mail_id in (
       select mail_id from mails where kind = ? and is_urgent and due_at is not null
       order by turn_at limit ? for update skip locked)
     returning mail_id as "mailId", detail`,
    [kind, limit],
  )
  return rows
}

/** `failed`: given up. */
export interface MailProgress {
  progress: 'waiting' | 'sent' | 'failed'
  sentAt: Date | null
}

/** Returns how far a company's mails of a kind to these people are. */
export async function readMailProgress(
  db: Queryable,
  kind: MailKind,
  { vendorId, userIds }: { vendorId: string; userIds: readonly string[] },
): Promise<(MailProgress & { userId: string })[]> {
  const { rows } = await db.raw(
    `select user_id as "userId", sent_at as "sentAt",
       case when due_at is not null then 'waiting' when sent_at is null then 'failed' else 'sent' end as progress
     from mails where user_id = any(?) and kind = ? and vendor_id = ?`,
    bindings([userIds, kind, vendorId]),
  )
  return rows
}

/**
 * Puts a claimed mail back for `delay_s`, unless another process has claimed or sent it meanwhile. What was
 * written down by then goes first.
 * @param pausesAll whether the server failed, for any mail. Then no process sends for as long, this attempt
 * does not count, and the mail keeps its turn.
 */
export async function postponeMail(
  db: Queryable,
  { mailId, sender }: OutgoingMail,
  { delay_s, pausesAll }: { delay_s: number; pausesAll: boolean },
): Promise<void> {
  await db.raw(
    `update mails set due_at = now() + make_interval(secs => :delay_s),
       turn_at = case when :pausesAll then turn_at else now() + make_interval(secs => :delay_s) end,
       attempts = attempts - case when :pausesAll then 1 else 0 end,
       sender = case when :pausesAll then sender end
     where mail_id = :mailId and sender = :sender and due_at is not null`,
    { mailId, sender, delay_s, pausesAll },
  )
}

/** Returns for how many seconds the oldest mail has waited; 0 if none waits. */
export async function readLongestWait(db: Queryable): Promise<number> {
  const { rows } = await db.raw(
    `select coalesce(extract(epoch from now() - min(created_at)), 0)::float8 as oldest_s
     from mails where due_at is not null`,
  )
  return rows[0].oldest_s
}

/** Mails about a quiet client stay, since people are told about it only once. */
export const MAIL_PURGE = purgeByTime({
  table: 'mails',
  key: 'mail_id',
  time: 'created_at',
  only: `(kind <> 'replaced_client_quiet' or due_at is not null)`,
  kept_ms: REMEMBERED_MS,
})

/** Without SMTP_URL no mail is sent, and none must come late once there is one. */
export const UNSENT_MAIL_PURGE = purgeByTime({
  table: 'mails',
  kind: 'unsent_mails',
  key: 'mail_id',
  time: 'created_at',
  only: 'due_at is not null',
  kept_ms: UNSENT_KEPT_MS,
})
