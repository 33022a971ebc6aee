import { createBatcher } from '#shared/process/batcher.ts'
import { within } from '#shared/process/within.ts'
import type { Queryable } from '#shared/stores/postgres.ts'
import { readStandings } from './records.ts'
import { entriesOf, type Standing, type Subject } from './subject.ts'

/** Leaves a connection of the API's pool for decisions, which has three, to its rounds. */
const STATEMENTS_AT_ONCE = 2
const SUBJECTS_A_STATEMENT = 500

/**
 * Asks the Postgres primary. Questions that wait go together in one statement, which begins after each was asked.
 * Returns a function that answers within `deadline_ms`, `undecided` when Postgres cannot, and never rejects.
 */
export function createPrimaryAsk({ db, deadline_ms }: { db: Queryable; deadline_ms: number }) {
  const read = createBatcher<Subject, Standing>(
    async (subjects) =>
      (await within(deadline_ms, readStandings(db, subjects))) ?? subjects.map(() => 'undecided'),
    SUBJECTS_A_STATEMENT,
    STATEMENTS_AT_ONCE,
  )
  return (subject: Subject): Promise<Standing> => {
    // Postgres text cannot hold NUL: an id with one was never issued, and must not fail the shared statement.
    const impossible = entriesOf(subject).find(({ id }) => id.includes('\0'))
    if (impossible) return Promise.resolve({ revoked: impossible.kind })
    return within(deadline_ms, read(subject)).then(
      (standing) => standing ?? 'undecided',
      () => 'undecided',
    )
  }
}
