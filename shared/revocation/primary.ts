import type { Queryable } from '#shared/postgres.ts'
import { readStandings } from './records.ts'
import type { Standing, Subject } from './revocation.ts'

/** So that a Redis outage does not take every connection of the pool from the rest of the process. */
const STATEMENTS_AT_ONCE = 3
const SUBJECTS_A_STATEMENT = 500

interface Asked {
  subject: Subject
  answer: (standing: Standing) => void
}

/**
 * Asks the Postgres primary. Questions that wait go together in one statement, which always begins after each was
 * asked.
 * @returns a function that answers within twice `deadline_ms` at the very most, `undecided` when Postgres cannot,
 * and never rejects.
 */
export function createPrimaryAsk({ db, deadline_ms }: { db: Queryable; deadline_ms: number }) {
  let waiting: Asked[] = []
  let running = 0
  let scheduled = false

  function schedule(): void {
    if (scheduled || running >= STATEMENTS_AT_ONCE || waiting.length === 0) return
    scheduled = true
    setImmediate(() => {
      scheduled = false
      void runOne()
    })
  }

  async function runOne(): Promise<void> {
    const batch = waiting.slice(0, SUBJECTS_A_STATEMENT)
    waiting = waiting.slice(SUBJECTS_A_STATEMENT)
    running += 1
    schedule()
    const subjects = batch.map(({ subject }) => subject)
    const standings = await within(deadline_ms, readStandings(db, subjects)).catch(() => undefined)
    running -= 1
    for (const [i, { answer }] of batch.entries()) answer(standings?.[i] ?? 'undecided')
    schedule()
  }

  return (subject: Subject): Promise<Standing> => {
    if (!storable(subject)) return Promise.resolve('revoked')
    const standing = new Promise<Standing>((answer) => {
      waiting.push({ subject, answer })
      schedule()
    })
    return within(deadline_ms, standing).then((answer) => answer ?? 'undecided')
  }
}

/** Postgres text cannot hold NUL: such a name was never issued, and one must not fail its neighbours' statement. */
const storable = ({ clientId, jti, kid }: Subject): boolean =>
  ![clientId, jti, kid].some((id) => id?.includes('\0'))

/** The promise's value, or undefined when it has none after `limit_ms`. */
function within<T>(limit_ms: number, promise: Promise<T>): Promise<T | undefined> {
  const late = Promise.withResolvers<undefined>()
  const timer = setTimeout(late.resolve, limit_ms)
  return Promise.race([promise, late.promise]).finally(() => clearTimeout(timer))
}
