import { cpus, totalmem } from 'node:os'
import { Lifecycle } from '../../../infra/local/lifecycle.ts'
import { moveTo } from './cores.ts'
import type { Finding, Row } from './row.ts'
import { ROWS } from './rows.ts'
import { findingsTable } from './table.ts'
import { startBenchServers } from './world.ts'

const EXIT_USAGE = 64
const EXIT_INTERRUPTED = 130

const say = (text: string) => process.stderr.write(`${text}\n`)

const USAGE = `npm run bench -- [TEXT]

Measures the services beside floors on this machine and prints the ratios, in about 15 minutes. With TEXT, it
measures only the rows with this in their name:

${ROWS.map(({ name }) => name).join('\n')}`

async function main(): Promise<number> {
  const [text] = process.argv.slice(2)
  const rows = ROWS.filter(({ name, isLong }) => (text === undefined ? !isLong : name.includes(text)))
  if (rows.length === 0) {
    say(USAGE)
    return EXIT_USAGE
  }
  const { findings, failures } = await measureAll(rows)
  process.stdout.write(`\n${describeMachine()}\n\n${findingsTable(findings)}\n`)
  for (const failure of failures) say(failure)
  return failures.length > 0 ? 1 : 0
}

/** Returns all that figures depend on: processor, memory and Node. */
function describeMachine(): string {
  const cores = cpus()
  const gibibytes = Math.round(totalmem() / 2 ** 30)
  return `${cores.length} cores of ${cores[0]?.model.trim()}, ${gibibytes} GiB, Node ${process.versions.node}`
}

/** Measures each row. A row that fails costs no other. */
async function measureAll(rows: Row[]) {
  const lifecycle = new Lifecycle()
  moveTo('stores')
  const starting = startBenchServers(lifecycle)
  async function interrupt(): Promise<void> {
    // What is being started is not registered yet.
    await starting.catch(() => {})
    await lifecycle.stop()
    process.exit(EXIT_INTERRUPTED)
  }
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void interrupt())
  const findings: Finding[] = []
  const failures: string[] = []
  try {
    const world = await starting
    for (const { name, measure } of rows) {
      if (lifecycle.stopping) break
      const progress = (text: string) => say(`${process.uptime().toFixed().padStart(5)} s  ${name}: ${text}`)
      try {
        findings.push(...(await measure({ ...world, progress })))
      } catch (error) {
        failures.push(`${name}: failed: ${(error as Error).message}`)
      }
    }
  } finally {
    await lifecycle.stop()
  }
  return { findings, failures }
}

process.exit(
  await main().catch((error: Error) => {
    say(error.message)
    return 1
  }),
)
