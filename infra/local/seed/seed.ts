import { randomBytes } from 'node:crypto'
import type { Clock } from '#shared/process/clock.ts'
import type { Database, Queryable } from '#shared/stores/postgres.ts'
import { newUserId } from '../../../apps/api/accounts/new-ids.ts'
import { hashPassword } from '../../../apps/api/accounts/passwords.ts'
import {
  type CompanyRecord,
  insertCompany,
  insertUser,
  listAccounts,
  saveMembership,
} from '../../../apps/api/accounts/people.ts'
import { addDays, type ZoneDay, zoneDayAt } from '../../../apps/api/analytics/calendar.ts'
import { readStoredDays, storeEvents } from '../../../apps/api/analytics/store.ts'
import { poll } from '../poll.ts'
import { DEMO_COMPANIES, type DemoCompany } from './companies.ts'
import { dayEvents } from './day-events.ts'

const DAYS_SEEDED = 90
const PASSWORD_BYTES = 12
const LOCK_WAIT = { every_ms: 100, limit_ms: 60_000 }

/** Whether there are companies, but none from the demo. Such a database must not be seeded. */
export async function holdsOnlyOthers(db: Queryable): Promise<boolean> {
  const { rows } = await db.raw(`select to_regclass('companies') is not null as migrated`)
  if (!rows[0].migrated) return false
  // Includes companies of an earlier release's schema, and erased ones: they had real people.
  const { rows: companies } = await db.raw('select vendor_id as "vendorId" from companies')
  const demo = new Set(DEMO_COMPANIES.map(({ company }) => company.vendorId))
  return companies.length > 0 && !companies.some(({ vendorId }: CompanyRecord) => demo.has(vendorId))
}

/**
 * Adds missing demo companies with their people, and missing days. Changes nothing that exists. Returns the
 * number of days added to the company that lacked most.
 * @param password for new people. If undefined, one is generated.
 * @param keepPassword gets the password before new people are committed, so that it cannot be lost.
 */
export async function seed(options: {
  db: Database
  clock: Clock
  password: string | undefined
  keepPassword: (password: string) => Promise<void>
}): Promise<number> {
  const { db, clock, password, keepPassword } = options
  return db.transaction(async (transaction) => {
    await takeLock(transaction)
    const demoPassword = createDemoPassword(password)
    let days = 0
    for (const demo of DEMO_COMPANIES) {
      const { rows } = await transaction.raw(
        'select erased_at is not null as erased from companies where vendor_id = ?',
        [demo.company.vendorId],
      )
      if (rows[0]?.erased) continue
      if (!rows[0]) {
        await insertCompany(transaction, demo.company)
        await seedPeople(transaction, demo, demoPassword.hash)
      }
      days = Math.max(days, await seedDays(transaction, demo, clock.now()))
    }
    const used = demoPassword.used()
    if (used !== undefined) await keepPassword(used)
    return days
  })
}

/**
 * Takes the lock that only one start may have. The other may take longer than a statement may.
 * @throws Error if it has the lock for longer than a minute.
 */
async function takeLock(transaction: Queryable): Promise<void> {
  const sql = `select pg_try_advisory_xact_lock(hashtextextended('demo seed', 0)) as "isTaken"`
  const isTaken = async () => (await transaction.raw(sql)).rows[0].isTaken
  await poll(isTaken, LOCK_WAIT, () => new Error('Another start has not added the demo data in a minute.'))
}

/** One password for all of them. Hashing is slow, so it is created when first needed. */
function createDemoPassword(password: string = randomBytes(PASSWORD_BYTES).toString('base64url')) {
  let hash: Promise<string> | undefined
  return {
    hash: () => {
      hash ??= hashPassword(password)
      return hash
    },
    used: () => (hash ? password : undefined),
  }
}

async function seedPeople(
  db: Queryable,
  { company: { vendorId }, people }: DemoCompany,
  passwordHash: () => Promise<string>,
): Promise<void> {
  for (const { email, name, role, status } of people) {
    const [account] = await listAccounts(db, email)
    const userId = account?.userId ?? newUserId()
    if (!account) await insertUser(db, { userId, email, name, passwordHash: await passwordHash() })
    await saveMembership(db, { vendorId, userId, role, status })
  }
}

/**
 * The last 90 days up to today, and any earlier days since the stack last ran. Returns how many were missing.
 */
async function seedDays(db: Database, { company, trade }: DemoCompany, now_ms: number): Promise<number> {
  const { vendorId, timezone } = company
  const today = zoneDayAt(timezone, now_ms)
  const ninety = addDays(today.date, 1 - DAYS_SEEDED)
  const { days, newestEvent_ms } = await readStoredDays(db, { vendorId, from: ninety, to: today.date })
  const stored = new Set(days.map(({ date }) => date))
  const newest = newestEvent_ms === undefined ? ninety : zoneDayAt(timezone, newestEvent_ms).date
  const missing: ZoneDay[] = []
  for (let day = today; day.date > newest || day.date >= ninety; day = zoneDayAt(timezone, day.start_ms - 1))
    if (!stored.has(day.date)) missing.push(day)
  const events = missing.flatMap((day) => dayEvents(vendorId, trade, day, now_ms))
  await storeEvents(db, vendorId, events)
  return missing.length
}
