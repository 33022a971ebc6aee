import { parseArgs } from 'node:util'
import { markdownTable } from '../table.ts'
import { FAULTS } from './faults.ts'
import { createRandom } from './random.ts'
import { OPERATIONS } from './recorder.ts'
import { type Row, runFaults } from './run.ts'

const HELP = `npm run faults -- [options]

Runs two processes of each service on a real Postgres and Redis behind proxies, lets faults strike one after another
while clients come, go and are revoked, and checks what the services promise. Prints what each fault cost. Ends with
code 1 and every broken promise if there was one. Everything is on loopback and removed at the end. A seed repeats the
faults and the choices; time is real, so a narrow race may take several runs to show again.

  --seed N       order and length of the faults, and who asks whom; default: another one each time
  --minutes N    no fault begins later; default 5, enough for each fault once
  --only TEXT    only faults with this in their name

${FAULTS.map(({ name }) => name).join('\n')}
`
const EXIT_USAGE = 64
const EXIT_INTERRUPTED = 130
const VIOLATIONS_SHOWN = 100
const MINUTES_MAX = 24 * 60

function readOptions() {
  const { values } = parseArgs({
    options: {
      seed: { type: 'string', default: String(Date.now() % 2 ** 31) },
      minutes: { type: 'string', default: '5' },
      only: { type: 'string', default: '' },
    },
  })
  const { only } = values
  const [seed, minutes] = [Number(values.seed), Number(values.minutes)]
  const faults = FAULTS.filter(({ name }) => name.includes(only))
  if (!Number.isSafeInteger(seed) || seed < 0) throw new Error('--seed must be a whole number')
  if (!(minutes > 0 && minutes <= MINUTES_MAX)) throw new Error(`--minutes must be at most ${MINUTES_MAX}`)
  if (faults.length === 0) throw new Error('No fault has such a name.')
  return { seed, minutes, faults, only }
}

const seconds = (duration_ms: number): string => `${(duration_ms / 1_000).toFixed(1)} s`

function cellsOf({ fault, availability, slowestRevoke_ms, recovery_ms }: Row): string[] {
  const shares = OPERATIONS.map((operation) => {
    const { good, all } = availability[operation]
    // Rounded down: 100 means that not one failed.
    return all === 0 ? '-' : String(Math.floor((100 * good) / all))
  })
  return [fault, ...shares, slowestRevoke_ms === 0 ? '-' : seconds(slowestRevoke_ms), seconds(recovery_ms)]
}

async function main(): Promise<number> {
  let options: ReturnType<typeof readOptions>
  try {
    options = readOptions()
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n\n${HELP}`)
    return EXIT_USAGE
  }
  const { seed, minutes, faults, only } = options
  const aborted = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => aborted.abort())
  const again = `npm run faults -- --seed ${seed} --minutes ${minutes}${only && ` --only '${only}'`}`
  process.stderr.write(`${again}\n`)
  const outcome = await runFaults({
    seed,
    faults: createRandom(seed).shuffled(faults),
    limit_ms: minutes * 60_000,
    progress: (row) => process.stderr.write(`${cellsOf(row).join('  ')}\n`),
    signal: aborted.signal,
  }).catch((error) => {
    if (aborted.signal.aborted) return undefined
    throw error
  })
  if (!outcome) return EXIT_INTERRUPTED
  const { rows, violations, requests, events, clients, revocations } = outcome
  const header = ['fault', ...OPERATIONS.map((operation) => `${operation} %`), 'slowest revoke', 'recovery']
  process.stdout.write(`\n${markdownTable(header, rows.map(cellsOf).sort())}\n\n`)
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
