import { createHash } from 'node:crypto'
import type { Queryable } from '#shared/stores/postgres.ts'
import { normalizedEmail } from '../accounts/people.ts'

const DAY_MS = 24 * 3_600_000
/** How long a place counts as known after the last sign-in there. */
const KNOWN_FOR_MS = {
  /** Addresses pass to other people. */
  address: 30 * DAY_MS,
  /** As long as browsers keep a cookie (RFC 6265bis §5.5). */
  browser: 400 * DAY_MS,
  /** After an operator has set the password. */
  everywhere: DAY_MS,
} as const
export const BROWSER_KNOWN_FOR_S = KNOWN_FOR_MS.browser / 1_000

const KNOWN_PER_USER_MAX = 20
const EVERYWHERE = 'everywhere'

/** Where a person signs in from. */
export interface SignInPlace {
  address: string
  /** The secret in the cookie of the browser, if it brought one. */
  browser: string | undefined
}

export interface KnownAccounts {
  /** Those that have lately been signed in to from the place. */
  userIds: ReadonlySet<string>
  /** Names the browser, if one of them has been signed in to from it. */
  browser: string | undefined
}

/** A database or its backup cannot be used to pass for the browser. */
const browserName = (secret: string): string =>
  `browser:${createHash('sha256').update(secret).digest('base64url')}`

/** Which accounts of an email address know the place. */
export async function findKnownAccounts(
  db: Queryable,
  { email, address, browser, now_ms }: SignInPlace & { email: string; now_ms: number },
): Promise<KnownAccounts> {
  const name = browser === undefined ? null : browserName(browser)
  const since = (known_ms: number) => new Date(now_ms - known_ms)
  const { rows } = await db.raw(
    `select user_id as "userId", address as place from sign_in_addresses join users using (user_id)
     where email = ? and ((address = ? and last_at > ?) or (address = ? and last_at > ?) or (address = ? and last_at > ?))`,
    [
      normalizedEmail(email),
      ...[address, since(KNOWN_FOR_MS.address)],
      ...[name, since(KNOWN_FOR_MS.browser)],
      ...[EVERYWHERE, since(KNOWN_FOR_MS.everywhere)],
    ],
  )
  return {
    userIds: new Set(rows.map(({ userId }: { userId: string }) => userId)),
    browser: rows.find(({ place }: { place: string }) => place === name)?.place,
  }
}

/** Remembers where a user signed in from: the latest places of each user. Call it in a transaction. */
export async function rememberPlace(
  transaction: Queryable,
  { userId, address, browser, now }: SignInPlace & { userId: string; now: Date },
): Promise<void> {
  for (const place of browser === undefined ? [address] : [address, browserName(browser)])
    await remember(transaction, { userId, place, now })
  await transaction.raw(
    `delete from sign_in_addresses where user_id = ? and (address = ? or address not in
       (select address from sign_in_addresses where user_id = ? order by last_at desc limit ?))`,
    [userId, EVERYWHERE, userId, KNOWN_PER_USER_MAX],
  )
}

/** Makes every place a known one until the next sign-in, for a day at most. */
export const knowEverywhere = (
  transaction: Queryable,
  { userId, now }: { userId: string; now: Date },
): Promise<void> => remember(transaction, { userId, place: EVERYWHERE, now })

async function remember(
  db: Queryable,
  { userId, place, now }: { userId: string; place: string; now: Date },
): Promise<void> {
  await db.raw(
    `insert into sign_in_addresses (user_id, address, last_at) values (?, ?, ?)
     on conflict (user_id, address) do update set last_at = excluded.last_at`,
    [userId, place, now],
  )
}

/** Removes at most `limit` that are no longer known. Returns how many. */
export async function deleteOldPlaces(
  db: Queryable,
  { now_ms, limit }: { now_ms: number; limit: number },
): Promise<number> {
  const { rowCount } = await db.raw(
    `delete from sign_in_addresses where (user_id, address) in
       (select user_id, address from sign_in_addresses
        where last_at <= ? and (last_at <= ? or not starts_with(address, 'browser:')) order by last_at limit ?)`,
    [new Date(now_ms - KNOWN_FOR_MS.address), new Date(now_ms - KNOWN_FOR_MS.browser), limit],
  )
  return rowCount
}
