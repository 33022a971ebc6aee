import { createHash } from 'node:crypto'
import type { Queryable } from '#shared/stores/postgres.ts'
import { normalizedEmail } from '../accounts/people.ts'
import { type Purge, purgeByTime } from '../stores/purge.ts'

/* The table of sign-in addresses: from which network addresses and browsers a user has lately signed in. */

const DAY_MS = 24 * 3_600_000
/** How long an address or browser counts as known after the last sign-in from it. */
const KNOWN_FOR_MS = {
  /** Addresses pass to other people. */
  address: 30 * DAY_MS,
  /** As long as browsers keep a cookie (RFC 6265bis §5.5). */
  browser: 400 * DAY_MS,
  /** After an operator has set the password. */
  any: DAY_MS,
} as const
export const BROWSER_KNOWN_FOR_S = KNOWN_FOR_MS.browser / 1_000

const KNOWN_PER_USER_MAX = 20
/** Stands for every address. The name is that of stored rows. */
const ANY_ADDRESS = 'everywhere'

const IS_BROWSER = "starts_with(address, 'browser:')"

/** Where a person signs in from. */
interface SignInOrigin {
  address: string
  /** The secret in the browser's cookie, if it has one. */
  browser: string | undefined
}

interface KnownAccounts {
  /** Accounts with a recent sign-in from the address or browser. */
  userIds: ReadonlySet<string>
  /** The browser as it is stored, if one of these accounts knows it. */
  browser: string | undefined
}

/** Only a hash is stored, so no one can pass for the browser with what a backup contains. */
const browserAddress = (secret: string): string =>
  `browser:${createHash('sha256').update(secret).digest('base64url')}`

/** Returns the accounts of an email address that know where the request comes from. */
export async function findKnownAccounts(
  db: Queryable,
  { email, address, browser, now_ms }: SignInOrigin & { email: string; now_ms: number },
): Promise<KnownAccounts> {
  const browserHash = browser === undefined ? null : browserAddress(browser)
  const since = (lifetime_ms: number) => new Date(now_ms - lifetime_ms)
  const { rows } = await db.raw(
    `select user_id as "userId", address as known from sign_in_addresses join users using (user_id)
     where email = ? and ((address = ? and last_at > ?) or (address = ? and last_at > ?)
       or (address = ? and last_at > ?))`,
    [
      normalizedEmail(email),
      ...[address, since(KNOWN_FOR_MS.address)],
      ...[browserHash, since(KNOWN_FOR_MS.browser)],
      ...[ANY_ADDRESS, since(KNOWN_FOR_MS.any)],
    ],
  )
  return {
    userIds: new Set(rows.map(({ userId }: { userId: string }) => userId)),
    browser: rows.find(({ known }: { known: string }) => known === browserHash)?.known,
  }
}

/** Remembers where a user signed in from, and forgets all but the latest. Call it in a transaction. */
export async function rememberSignInAddress(
  transaction: Queryable,
  { userId, address, browser, now }: SignInOrigin & { userId: string; now: Date },
): Promise<void> {
  const addresses = browser === undefined ? [address] : [address, browserAddress(browser)]
  for (const knownAddress of addresses) await saveAddress(transaction, { userId, address: knownAddress, now })
  await transaction.raw(
    `delete from sign_in_addresses where user_id = ? and (address = ? or address not in
       (select address from sign_in_addresses where user_id = ? order by last_at desc limit ?))`,
    [userId, ANY_ADDRESS, userId, KNOWN_PER_USER_MAX],
  )
}

/** Lifts a lockout by failed sign-ins from elsewhere, until the next sign-in and for a day at most. */
export const liftSignInLockout = (
  transaction: Queryable,
  { userId, now }: { userId: string; now: Date },
): Promise<void> => saveAddress(transaction, { userId, address: ANY_ADDRESS, now })

async function saveAddress(
  db: Queryable,
  { userId, address, now }: { userId: string; address: string; now: Date },
): Promise<void> {
  await db.raw(
    `insert into sign_in_addresses (user_id, address, last_at) values (?, ?, ?)
     on conflict (user_id, address) do update set last_at = excluded.last_at`,
    [userId, address, now],
  )
}

export async function forgetSignInAddresses(transaction: Queryable, userId: string): Promise<void> {
  await transaction.raw('delete from sign_in_addresses where user_id = ?', [userId])
}

/** Each part has an index of its own, since browsers are kept so much longer than addresses. */
export const SIGN_IN_PURGES: readonly Purge[] = [
  { kind: 'sign_in_addresses', only: `not ${IS_BROWSER}`, kept_ms: KNOWN_FOR_MS.address },
  { kind: 'sign_in_browsers', only: IS_BROWSER, kept_ms: KNOWN_FOR_MS.browser },
].map((part) =>
  purgeByTime({ table: 'sign_in_addresses', key: 'user_id, address', time: 'last_at', ...part }),
)
