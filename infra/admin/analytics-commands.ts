import { extname, resolve } from 'node:path'
import { type Command, Option } from 'commander'
import { DAY_OPEN_TO_IMPORTS_DAYS } from '#shared/analytics/events.ts'
import { systemClock } from '#shared/process/clock.ts'
import {
  type ImportOptions,
  type ImportProgress,
  type ImportResult,
  importEvents,
} from './analytics-import.ts'
import { command, group, type Run } from './commands.ts'
import { CSV_COLUMNS, type EventFileFormat } from './event-file.ts'
import { OperatorError } from './operator.ts'

const EXIT_STOPPED = 1
const EXIT_LINES_REFUSED = 3
const BAR_WIDTH = 30

const EXPLANATION = `
FILE is CSV with a header line, or NDJSON (one JSON object per line). Its columns or members are those of
POST /v1/analytics/{vendor_id}/events: ${CSV_COLUMNS.join(', ')}.
The same rules apply, but events may be as old as 1970. An empty CSV value counts as missing.

Each eventId counts once. Events are stored in batches, each as a whole or not at all. If an import stops or
crashes, run it again: it skips what it has already stored. Ids are not remembered permanently, so an event
with an unknown id is added to a day only if
  - the day has no figures yet, or
  - the first event of the day was stored in the last ${DAY_OPEN_TO_IMPORTS_DAYS} days, which means that all its ids are still remembered.
Events of other days are refused, so finish an import within ${DAY_OPEN_TO_IMPORTS_DAYS} days. Only this command can change
a day that the API reports as final.

Refused lines are listed in FILE.refused.csv (line, eventId, reason); all others are stored.
Exit code: 0 if every line was accepted, ${EXIT_LINES_REFUSED} if some were refused, ${EXIT_STOPPED} if the import stopped or failed.`

/** Events and daily figures. Relative file names are resolved against `callerFolder`. */
export function addAnalyticsCommands(program: Command, run: Run, callerFolder: string): void {
  const analytics = group(program, 'analytics', 'Events and daily figures')
  command(
    analytics,
    'import',
    'Import the events of a file, whatever their age',
    'analytics import history.csv --company ven_acme',
  )
    .argument('<file>', 'CSV or NDJSON')
    .requiredOption('--company <vendor_id>', 'company that the events belong to')
    .addOption(
      new Option(
        '--format <format>',
        'needed if the file name does not end in .csv, .ndjson or .jsonl',
      ).choices(['csv', 'ndjson']),
    )
    .addHelpText('after', EXPLANATION)
    .action((name: string, { company, format }: { company: string; format?: EventFileFormat }) =>
      run(async ({ db, by }) => {
        const file = resolve(callerFolder, name)
        const source = {
          db,
          clock: systemClock,
          vendorId: company,
          by,
          file,
          format: format ?? formatOf(file),
        }
        const result = await importWithProgress(source, { drawn: !program.opts().json })
        const exitCode = result.stopped ? EXIT_STOPPED : result.refused > 0 ? EXIT_LINES_REFUSED : 0
        return { text: inWords(result), data: result, exitCode }
      }),
    )
}

/** Imports a file with a progress bar on a terminal. On a signal, stops after the current batch. */
async function importWithProgress(
  source: ImportOptions,
  { drawn }: { drawn: boolean },
): Promise<ImportResult> {
  const onProgress = drawn && process.stderr.isTTY ? drawnOn(process.stderr) : undefined
  const stopping = new AbortController()
  const stop = () => stopping.abort()
  process.once('SIGINT', stop).once('SIGTERM', stop)
  try {
    return await importEvents({
      ...source,
      signal: stopping.signal,
      ...(onProgress && { onProgress }),
    })
  } finally {
    if (onProgress) process.stderr.write('\n')
    process.off('SIGINT', stop).off('SIGTERM', stop)
  }
}

/** Redraws one line: the share of the file read so far, the counts of its events, and the seconds left. */
function drawnOn(terminal: NodeJS.WritableStream): (progress: ImportProgress) => void {
  const started_ms = performance.now()
  return ({ read_bytes, size_bytes, accepted, duplicates, refused }) => {
    const part = size_bytes === 0 ? 1 : read_bytes / size_bytes
    const bar = '█'.repeat(Math.round(part * BAR_WIDTH)).padEnd(BAR_WIDTH, '░')
    const counts = `${accepted} stored, ${duplicates} known, ${refused} refused`
    const left_s = part > 0 ? Math.ceil(((performance.now() - started_ms) / 1_000) * (1 / part - 1)) : '?'
    terminal.write(`\r\x1b[K${bar} ${Math.floor(part * 100)}% | ${counts} | ${left_s} s left`)
  }
}

function formatOf(file: string): EventFileFormat {
  const extension = extname(file).toLowerCase()
  if (extension === '.csv') return 'csv'
  if (extension === '.ndjson' || extension === '.jsonl') return 'ndjson'
  throw new OperatorError(
    `The extension of ${file} is neither CSV nor NDJSON: add --format csv or --format ndjson.`,
  )
}

function inWords({ lines, accepted, duplicates, refused, refusedFile, stopped }: ImportResult): string {
  const figure = (n: number) => n.toLocaleString('en')
  const counts = `${figure(lines)} lines: ${figure(accepted)} stored, ${figure(duplicates)} already known, ${figure(refused)} refused.`
  return [
    stopped ? `Stopped. ${counts} Run it again to store the rest.` : counts,
    ...(refusedFile ? [`The refused lines are listed in ${refusedFile}`] : []),
  ].join('\n')
}
