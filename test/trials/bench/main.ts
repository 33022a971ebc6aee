import { cpus, totalmem } from 'node:os'
import { Lifecycle } from '../../../infra/local/lifecycle.ts'
import { moveTo } from './cores.ts'
import { HELP, readOptions } from './options.ts'
import { businessText } from './quiet.ts'
import type { Bench, Row, RowResult } from './row.ts'
import { ROWS } from './rows.ts'
import { findingsTable } from './table.ts'
import { startBenchServers } from './world.ts'

const EXIT_USAGE = 64
const EXIT_INTERRUPTED = 130

const say = (text: string) => process.stderr.write(`${text}\n`)

async function main(): Promise<number> {
  const options = optionsOrExit()
  const isAsked = ({ part }: Row) => (part ? options[part] : !options.memory)
  const rows = ROWS.filter((row) => (options.list || isAsked(row)) && row.name.includes(options.only))
  if (options.list) {
    process.stdout.write(`${rows.map(({ name }) => name).join('\n')}\n`)
    return 0
  }
  if (rows.length === 0) {
    say(`No row has "${options.only}" in its name: --list shows the names.`)
    return EXIT_USAGE
  }
  const { results, failures } = await measureAll(rows, options.rounds)
  process.stdout.write(`\n${describeMachine()}. ${businessText(results)}\n\n${findingsTable(results)}\n`)
  for (const failure of failures) say(failure)
  return failures.length > 0 ? 1 : 0
}

/** Returns all that figures depend on: processor, memory and Node. */
function describeMachine(): string {
  const cores = cpus()
  const gibibytes = Math.round(totalmem() / 2 ** 30)
  return `${cores.length} cores of ${cores[0]?.model.trim()}, ${gibibytes} GiB, Node ${process.versions.node}`
}

function optionsOrExit() {
  try {
    return readOptions(process.argv.slice(2))
  } catch (error) {
    say(`${(error as Error).message}\n\n${HELP}`)
    process.exit(EXIT_USAGE)
  }
}

/** Measures each row. A row that fails costs no other. */
async function measureAll(rows: Row[], rounds: number) {
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
  const results: RowResult[] = []
  const failures: string[] = []
  try {
    const world = await starting
    for (const { name, measure } of rows) {
      if (lifecycle.stopping) break
      const progress = (text: string) => say(`${process.uptime().toFixed().padStart(5)} s  ${name}: ${text}`)
      const bench: Bench = { ...world, rounds, progress, business: [] }
      try {
        results.push({ findings: await measure(bench), business: bench.business })
      } catch (error) {
        failures.push(`${name}: failed: ${(error as Error).message}`)
      }
    }
  } finally {
    await lifecycle.stop()
  }
  return { results, failures }
}

process.exit(
  await main().catch((error: Error) => {
    say(error.message)
    return 1
  }),
)
