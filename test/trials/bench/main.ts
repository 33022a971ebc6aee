import { moveTo } from './cores.ts'
import { HELP, type Options, readOptions } from './options.ts'
import { type Business, businessText } from './quiet.ts'
import { machine, type RowResult, saveResults } from './results.ts'
import type { Bench, Measurement, Row } from './row.ts'
import { ROWS } from './rows.ts'
import { createServers } from './servers.ts'
import { findingsTable, loadsTable } from './table.ts'
import { createWorld, type World } from './world.ts'

const EXIT_USAGE = 64
const EXIT_INTERRUPTED = 130

async function main(): Promise<number> {
  const options = optionsOrExit()
  const rows = ROWS.filter(
    ({ name, part }) => (options.list || options.parts.has(part)) && name.includes(options.only),
  )
  if (options.list) {
    process.stdout.write(`${rows.map(({ name }) => name).join('\n')}\n`)
    return 0
  }
  moveTo('stores')
  const { results, loads, failures } = await measureAll(rows, options.rounds)
  const measured = { ...machine(), rows: results }
  process.stdout.write(
    `\n${measured.machine}. ${businessText(results)}\n\n${findingsTable([measured])}\n\n${loadsTable(loads)}\n`,
  )
  if (options.save) await saveResults(measured)
  for (const failure of failures) say(failure)
  return failures.length > 0 ? 1 : 0
}

function optionsOrExit(): Options {
  try {
    return readOptions(process.argv.slice(2))
  } catch (error) {
    say(`${(error as Error).message}\n\n${HELP}`)
    process.exit(EXIT_USAGE)
  }
}

/** Measures each row. A row that fails costs no other. */
async function measureAll(rows: Row[], rounds: number) {
  const servers = await createServers()
  let world: Promise<World> | undefined
  const stop = async () => {
    await servers.stop()
    await (await world?.catch(() => undefined))?.stop()
    await servers.remove()
  }
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, () => void stop().finally(() => process.exit(EXIT_INTERRUPTED)))
  const results: RowResult[] = []
  const loads: Measurement['loads'] = []
  const failures: string[] = []
  try {
    for (const { name, measure } of rows) {
      const business: Business[] = []
      const bench: Bench = {
        rounds,
        servers,
        world: () => {
          world ??= createWorld(servers)
          return world
        },
        progress: (text) => say(`${process.uptime().toFixed(0).padStart(5)} s  ${name}: ${text}`),
        measuredWhile: (noted) => void business.push(noted),
      }
      try {
        const measured = await measure(bench)
        loads.push(...measured.loads)
        const { findings } = measured
        results.push({ name, measuredAt: new Date().toISOString(), findings, business })
      } catch (error) {
        failures.push(`${name}: failed: ${(error as Error).message}`)
      }
    }
  } finally {
    await stop()
  }
  return { results, loads, failures }
}

function say(text: string): void {
  process.stderr.write(`${text}\n`)
}

process.exit(await main())
