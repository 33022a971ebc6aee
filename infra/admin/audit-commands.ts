import type { Command } from 'commander'
import { listEntriesAfter } from '#shared/accounts/activity.ts'
import type { Database } from '#shared/stores/postgres.ts'
import { command, group, type Run } from './commands.ts'
import { momentOf } from './restore-commands.ts'

const ENTRIES_AT_ONCE = 500

/** The log of what people and operators did. */
export function addAuditCommands(
  program: Command,
  { run, stdout }: { run: Run; stdout: Pick<NodeJS.WritableStream, 'write'> },
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
}

async function* linesSince(db: Database, since: Date): AsyncGenerator<string> {
  for (let entryId = 0; ; ) {
    const entries = await listEntriesAfter(db, { entryId, since, limit: ENTRIES_AT_ONCE })
    for (const entry of entries) yield `${JSON.stringify(entry)}\n`
    if (entries.length < ENTRIES_AT_ONCE) return
    entryId = entries.at(-1)?.entryId ?? entryId
  }
}
