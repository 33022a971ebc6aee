import { extname, resolve } from 'node:path'
import { Presets, SingleBar } from 'cli-progress'
import { type Command, Option } from 'commander'
import { DAY_OPEN_TO_IMPORTS_DAYS } from '#shared/analytics/events.ts'
import { systemClock } from '#shared/process/clock.ts'
import { OperatorError } from '../operator.ts'
import { type ImportOptions, type ImportResult, importEvents } from './analytics-import.ts'
import { command, group, type Run } from './commands.ts'
import { CSV_COLUMNS, type EventFileFormat } from './event-file.ts'

const EXIT_STOPPED = 1
const EXIT_LINES_REFUSED = 3

const EXPLANATION = `
FILE is CSV with a header line, or NDJSON (one JSON object a line). Its columns, or members, are those of
POST /v1/analytics/{vendor_id}/events: ${CSV_COLUMNS.join(', ')}.
The same rules hold, but events of any age from 1970 on are taken. An empty CSV value counts as left out.

Each event counts once by its eventId. Events are stored in pieces, each whole or not at all, so an import
that was stopped or has crashed is simply run again: what it has stored is passed over. Ids are not
remembered for ever. Therefore an event whose id is unknown is added to a day only if
  - the day has no figures yet, or
  - the first event of the day was stored in the last ${DAY_OPEN_TO_IMPORTS_DAYS} days, so that all of its ids are remembered.
Events of other days are refused. So finish an import within ${DAY_OPEN_TO_IMPORTS_DAYS} days. Nothing but this command changes a
day that the API calls final.

Refused lines are listed in FILE.refused.csv (line, eventId, reason); all others are stored.
Exit code: 0 when every line was taken, ${EXIT_LINES_REFUSED} when some were refused, ${EXIT_STOPPED} when it was stopped or failed.`

/** Events and daily figures. `callerFolder`: where files are named from. */
export function addAnalyticsCommands(program: Command, run: Run, callerFolder: string): void {
  const analytics = group(program, 'analytics', 'Events and daily figures')
  command(
    analytics,
    'import',
    'Store the events of a file, of any age',
    'analytics import history.csv --company ven_acme',
  )
    .argument('<file>', 'CSV or NDJSON')
    .requiredOption('--company <vendor_id>', 'the company whose events they are')
    .addOption(
      new Option('--format <format>', 'when the name of the file does not tell').choices(['csv', 'ndjson']),
    )
    .addHelpText('after', EXPLANATION)
    .action((name: string, { company, format }: { company: string; format?: EventFileFormat }) =>
      run(async ({ db }) => {
        const file = resolve(callerFolder, name)
        const source = { db, clock: systemClock, vendorId: company, file, format: format ?? formatOf(file) }
        const result = await importWithProgress(source, { drawn: !program.opts().json })
        const exitCode = result.stopped ? EXIT_STOPPED : result.refused > 0 ? EXIT_LINES_REFUSED : 0
        return { text: inWords(result), data: result, exitCode }
      }),
    )
}

/** Draws a bar on a terminal, and stops after the piece that is being stored when it is asked to end. */
async function importWithProgress(
  source: ImportOptions,
  { drawn }: { drawn: boolean },
): Promise<ImportResult> {
  const bar = drawn && process.stderr.isTTY ? createBar() : undefined
  const stopping = new AbortController()
  const stop = () => stopping.abort()
  process.once('SIGINT', stop).once('SIGTERM', stop)
  try {
    return await importEvents({
      ...source,
      signal: stopping.signal,
      onProgress: ({ read_bytes, size_bytes, ...counts }) => {
        if (bar && !bar.isActive) bar.start(size_bytes, read_bytes, counts)
        else bar?.update(read_bytes, counts)
      },
    })
  } finally {
    bar?.stop()
    process.off('SIGINT', stop).off('SIGTERM', stop)
  }
}

function createBar(): SingleBar {
  const format =
    '{bar} {percentage}% | {accepted} stored, {duplicates} known, {refused} refused | {eta_formatted} left'
  return new SingleBar({ stream: process.stderr, format, hideCursor: true }, Presets.shades_grey)
}

function formatOf(file: string): EventFileFormat {
  const extension = extname(file).toLowerCase()
  if (extension === '.csv') return 'csv'
  if (extension === '.ndjson' || extension === '.jsonl') return 'ndjson'
  throw new OperatorError(
    `Whether ${file} is CSV or NDJSON is not in its name: add --format csv or --format ndjson.`,
  )
}

function inWords({ lines, accepted, duplicates, refused, refusedFile, stopped }: ImportResult): string {
  const figure = (n: number) => n.toLocaleString('en')
  const counts = `${figure(lines)} lines: ${figure(accepted)} stored, ${figure(duplicates)} known before, ${figure(refused)} refused.`
  return [
    stopped ? `Stopped. ${counts} Run it again to store the rest.` : counts,
    ...(refusedFile ? [`The refused lines are listed in ${refusedFile}`] : []),
  ].join('\n')
}
