import { extname } from 'node:path'
import { Presets, SingleBar } from 'cli-progress'
import { Command, Option } from 'commander'
import { DAY_OPEN_TO_IMPORTS_DAYS } from '#shared/analytics-events.ts'
import { type Clock, systemClock } from '#shared/clock.ts'
import { createPostgres } from '#shared/postgres.ts'
import { type ImportResult, importEvents } from './analytics-import.ts'
import { CSV_COLUMNS, EventFileError, type EventFileFormat } from './event-file.ts'

/** A piece of an import can wait for other writers of the company. */
const STATEMENT_TIMEOUT_MS = 60_000
const EXIT_REFUSED_LINES = 2

export interface AnalyticsCommandOptions {
  databaseUrl: () => string
  clock?: Clock
  /** Where results go, a line each. */
  say?: (line: string) => void
  /** Where the progress is drawn; nowhere when it is no terminal. */
  terminal?: NodeJS.WriteStream
}

const HELP = `
FILE is CSV with a header line, or NDJSON (one JSON object a line). The columns, or members, are those of
POST /v1/analytics/{vendor_id}/events: ${CSV_COLUMNS.join(', ')}.
The same rules hold but for the age: events of any age from 1970 on are taken. An empty CSV value is one
that is left out.

Each event counts once by its eventId. Events are stored in pieces, each whole or not at all, so an import
that was stopped or has crashed is simply run again: what it has stored is passed over as duplicates.
Ids are not remembered for ever. Therefore an event whose id is unknown is added to a day only if
  - the day has no figures yet, or
  - the first event of the day was stored in the last ${DAY_OPEN_TO_IMPORTS_DAYS} days, so that all of its ids are remembered.
Events of other days are refused. So: finish an import within ${DAY_OPEN_TO_IMPORTS_DAYS} days, and give a day's events all at once or
within that time. Nothing but this command changes a day that the API calls final.

Refused lines are listed in FILE.refused.csv (line, eventId, reason); the others are stored.
Exit code: 0 all lines taken, ${EXIT_REFUSED_LINES} some refused, 1 stopped or failed.`

/** `analytics import FILE`: history of any age. */
export function createAnalyticsCommand(options: AnalyticsCommandOptions): Command {
  return new Command('analytics').description('events and daily figures').addCommand(importCommand(options))
}

function importCommand({
  databaseUrl,
  clock = systemClock,
  say = console.log,
  terminal = process.stderr,
}: AnalyticsCommandOptions): Command {
  return new Command('import')
    .description('store the events of a file, of any age')
    .argument('<file>', 'CSV or NDJSON')
    .requiredOption('--company <vendor_id>', 'the company that the events belong to')
    .addOption(
      new Option('--format <format>', 'when the name of the file does not tell').choices(['csv', 'ndjson']),
    )
    .option('--json', 'print the result as JSON')
    .addHelpText('after', HELP)
    .action(async (file: string, given: { company: string; format?: EventFileFormat; json?: boolean }) => {
      const format = given.format ?? formatOf(file)
      const db = createPostgres({
        url: databaseUrl(),
        poolSize: 2,
        applicationName: 'integration-admin',
        statementTimeout_ms: STATEMENT_TIMEOUT_MS,
      })
      const bar = given.json || !terminal.isTTY ? undefined : createBar(terminal)
      const stopping = new AbortController()
      const stop = () => stopping.abort()
      process.once('SIGINT', stop).once('SIGTERM', stop)
      try {
        const result = await importEvents({
          db,
          clock,
          vendorId: given.company,
          file,
          format,
          signal: stopping.signal,
          onProgress: ({ read_bytes, size_bytes, ...counts }) => {
            if (bar && !bar.isActive) bar.start(size_bytes, read_bytes, counts)
            else bar?.update(read_bytes, counts)
          },
        })
        bar?.stop()
        say(given.json ? JSON.stringify(result) : inWords(result))
        process.exitCode = result.stopped ? 1 : result.refused > 0 ? EXIT_REFUSED_LINES : 0
      } finally {
        bar?.stop()
        process.off('SIGINT', stop).off('SIGTERM', stop)
        await db.destroy()
      }
    })
}

function formatOf(file: string): EventFileFormat {
  switch (extname(file).toLowerCase()) {
    case '.csv':
      return 'csv'
    case '.ndjson':
    case '.jsonl':
      return 'ndjson'
    default:
      throw new EventFileError(
        `whether ${file} is CSV or NDJSON is not told by its name: add --format csv or --format ndjson`,
      )
  }
}

function createBar(stream: NodeJS.WriteStream): SingleBar {
  return new SingleBar(
    {
      stream,
      format:
        '{bar} {percentage}% | {accepted} stored, {duplicates} known, {refused} refused | {eta_formatted} left',
      hideCursor: true,
    },
    Presets.shades_grey,
  )
}

function inWords({ lines, accepted, duplicates, refused, refusedFile, stopped }: ImportResult): string {
  const figure = (n: number) => n.toLocaleString('en')
  const counts = `${figure(lines)} lines: ${figure(accepted)} stored, ${figure(duplicates)} known before, ${figure(refused)} refused`
  return [
    stopped ? `Stopped. ${counts}. Run it again to store the rest.` : `${counts}.`,
    ...(refusedFile ? [`The refused lines are listed in ${refusedFile}`] : []),
  ].join('\n')
}
