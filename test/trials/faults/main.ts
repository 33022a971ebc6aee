import { Command, InvalidArgumentError } from 'commander'
import { markdownTable } from '../table.ts'
import { FAULTS } from './faults.ts'
import { createRandom } from './random.ts'
import { OPERATIONS } from './recorder.ts'
import { type FaultRow, runFaults } from './run.ts'

const EXIT_USAGE = 64
const EXIT_INTERRUPTED = 130
const VIOLATIONS_SHOWN = 100

function readMinutes(text: string): number {
  if (!(Number(text) > 0)) throw new InvalidArgumentError('It must be a number above 0.')
  return Number(text)
}

function readPartOfName(text: string): string {
  if (FAULTS.some(({ name }) => name.includes(text))) return text
  throw new InvalidArgumentError('No fault has such a name.')
}

const program = new Command('npm run faults --')
  .description(
    'Runs two processes of each service on a real Postgres and Redis behind proxies, lets faults strike one after another while clients come, go and are revoked, and checks what the services promise. Prints what each fault cost. Ends with code 1 and every broken promise if there was one. Everything is on loopback and removed at the end. A seed repeats the faults and the choices; time is real, so a narrow race may take several runs to show again.',
  )
  .option('--seed <text>', 'order and length of the faults, and who asks whom', String(Date.now()))
  .option('--minutes <n>', 'no fault begins later; 5 are enough for each fault once', readMinutes, 5)
  .option('--only <text>', 'only faults with this in their name', readPartOfName, '')
  .addHelpText('after', `\n${FAULTS.map(({ name }) => name).join('\n')}`)
  .showHelpAfterError()
  .exitOverride(({ exitCode }) => process.exit(exitCode === 0 ? 0 : EXIT_USAGE))

const seconds = (duration_ms: number): string => `${(duration_ms / 1_000).toFixed(1)} s`

function formatCells({ fault, availability, slowestRevoke_ms, recovery_ms }: FaultRow): string[] {
  const percent = OPERATIONS.map((operation) => String(availability[operation] ?? '-'))
  return [fault, ...percent, slowestRevoke_ms === 0 ? '-' : seconds(slowestRevoke_ms), seconds(recovery_ms)]
}

async function main(): Promise<number> {
  const { seed, minutes, only } = program.parse().opts<{ seed: string; minutes: number; only: string }>()
  const aborted = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => aborted.abort())
  const again = `npm run faults -- --seed ${seed} --minutes ${minutes}${only && ` --only '${only}'`}`
  process.stderr.write(`${again}\n`)
  const outcome = await runFaults({
    seed,
    faults: createRandom(seed).shuffled(FAULTS.filter(({ name }) => name.includes(only))),
    limit_ms: minutes * 60_000,
    progress: (row) => process.stderr.write(`${formatCells(row).join('  ')}\n`),
    signal: aborted.signal,
  }).catch((error) => {
    if (aborted.signal.aborted) return undefined
    throw error
  })
  if (!outcome) return EXIT_INTERRUPTED
  const { rows, violations, requests, events, clients, revocations } = outcome
  const header = ['fault', ...OPERATIONS.map((operation) => `${operation} %`), 'slowest revoke', 'recovery']
  process.stdout.write(`\n${markdownTable(header, rows.map(formatCells).sort())}\n\n`)
  process.stdout.write(
    `${requests} requests; ${events} events, ${clients} clients and ${revocations} revocations acknowledged; ` +
      `${violations.length} promises broken\n`,
  )
  if (violations.length === 0) return 0
  for (const violation of violations.slice(0, VIOLATIONS_SHOWN)) process.stdout.write(`${violation}\n`)
  process.stdout.write(`\nTo see it again: ${again}\n`)
  return 1
}

process.exit(await main())
