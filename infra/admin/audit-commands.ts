import { Option } from 'commander'
import type { Database } from '#shared/stores/postgres.ts'
import { listEntries } from '../../apps/api/accounts/activity.ts'
import { compareActivity } from './audit-compare.ts'
import { fileAt, type Outcome, type Subject } from './commands.ts'
import { readTime, TIME_FORMS } from './time.ts'

const ENTRIES_AT_ONCE = 500
const SHOWN_MAX = 1_000

export const AUDIT: Subject = {
  name: 'audit',
  description: 'The log of what people and operators did',
  commands: [
    {
      name: 'export',
      doing: null,
      description: 'Print the log as NDJSON, oldest entry first',
      example: 'audit export --since 2026-01-31T09:00:00Z > log.ndjson',
      options: [
        new Option('--since <time>', `begin with the first entry from this time on: ${TIME_FORMS}`).argParser(
          readTime,
        ),
      ],
      async run({ db, stdout }, { since = new Date(0) }: { since?: Date }) {
        for await (const line of linesSince(db, since)) {
          const failure = await new Promise<NodeJS.ErrnoException | null | undefined>((written) =>
            stdout.write(line, written),
          )
          // The reader of a pipe has seen enough.
          if (failure?.code === 'EPIPE') return undefined
          if (failure) throw failure
        }
        return undefined
      },
    },
    {
      name: 'compare',
      description:
        'Compare the log with the lines `activity` that were shipped elsewhere, and name the entries that the database lacks, has changed, or has in addition. Exits with code 1 if there are any.',
      doing: 'Comparing',
      example: 'audit compare activity.ndjson',
      args: ['file'],
      run: (context, { file }: { file: string }) => compare(context.db, fileAt(context, file)),
    },
  ],
}

async function compare(db: Database, file: string): Promise<Outcome> {
  const differences: string[] = []
  let count = 0
  await db.transaction(async (transaction) => {
    for await (const difference of compareActivity(transaction, file))
      if (++count <= SHOWN_MAX) differences.push(difference)
  })
  const more = count > SHOWN_MAX ? [`And ${count - SHOWN_MAX} more.`] : []
  return {
    text: count === 0 ? 'The database has what the file says.' : [...differences, ...more].join('\n'),
    data: { count, differences },
    exitCode: count === 0 ? 0 : 1,
  }
}

async function* linesSince(db: Database, since: Date): AsyncGenerator<string> {
  for (let after = 0; ; ) {
    const entries = await listEntries(db, { after, since, limit: ENTRIES_AT_ONCE })
    for (const entry of entries) yield `${JSON.stringify(entry)}\n`
    if (entries.length < ENTRIES_AT_ONCE) return
    after = entries.at(-1)?.entryId ?? after
  }
}
