import { resolve } from 'node:path'
import type { Command } from 'commander'
import { listEntries } from '#shared/accounts/activity.ts'
import type { Database } from '#shared/stores/postgres.ts'
import { compareActivity } from './audit-compare.ts'
import { command, group, type Outcome, type Run } from './commands.ts'
import { momentOf } from './restore-commands.ts'

const ENTRIES_AT_ONCE = 500
const SHOWN_MAX = 1_000

/** The log of what people and operators did. */
export function addAuditCommands(
  program: Command,
  {
    run,
    stdout,
    callerFolder,
  }: { run: Run; stdout: Pick<NodeJS.WritableStream, 'write'>; callerFolder: string },
): void {
  const audit = group(program, 'audit', 'The log of what people and operators did')
  command(
    audit,
    'export',
    'Print the log as NDJSON, oldest entry first',
    'audit export --since 2026-01-31T09:00:00Z > log.ndjson',
  )
    .option('--since <time>', 'begin with the first entry from this time on (ISO 8601)')
    .action(({ since }: { since?: string }) =>
      run(async ({ db }) => {
        for await (const line of linesSince(db, since === undefined ? new Date(0) : momentOf(since)))
          await new Promise((written) => stdout.write(line, written))
        return undefined
      }),
    )
  command(
    audit,
    'compare',
    'Compare the log with the lines `activity` that were shipped elsewhere, and name the entries that the database lacks, has changed, or has in addition. Exits with code 1 if there are any.',
    'audit compare activity.ndjson',
  )
    .argument('<file>')
    .action((file: string) => run(({ db }) => compare(db, resolve(callerFolder, file))))
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
