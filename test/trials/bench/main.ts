import { moveTo } from './cores.ts'
import { HELP, type Options, readOptions } from './options.ts'
import { createProgress, type Progress } from './progress.ts'
import { type Business, businessText } from './quiet.ts'
import { machine, type RowResult, saveResults, writeResults } from './results.ts'
import type { Bench, Row } from './row.ts'
import { ROWS } from './rows.ts'
import { createServers } from './servers.ts'
import { findingsTable, loadsTable } from './table.ts'
import { createWorld, type World } from './world.ts'

const EXIT_USAGE = 64
const EXIT_INTERRUPTED = 130

interface Outcome {
  results: RowResult[]
  failures: { name: string; error: unknown }[]
}

async function main(): Promise<number> {
  const options = optionsOrExit()
  const rows = selected(options)
  if (options.help) return show(HELP)
  if (options.list) return show(`${rows.map(({ name }) => name).join('\n')}\n`)
  if (rows.length === 0) return complain('No row has such a name: see --list.', EXIT_USAGE)
  moveTo('stores')
  const { results, failures } = await measureAll(rows, options)
  const measured = { ...machine(), rows: results }
  process.stdout.write(
    `\n${measured.machine}. ${businessText(results)}\n\n${findingsTable([measured])}\n\n${loadsTable(results)}\n`,
  )
  if (options.json) await writeResults(options.json, measured)
  if (options.save) await saveResults(measured)
  for (const { name, error } of failures) complain(`${name}: failed: ${(error as Error).message}`)
  return failures.length > 0 ? 1 : 0
}

function optionsOrExit(): Options {
  try {
    return readOptions(process.argv.slice(2))
  } catch (error) {
    process.exit(complain(`${(error as Error).message}\n\n${HELP}`, EXIT_USAGE))
  }
}

function selected({ parts, only, list }: Options): Row[] {
  return ROWS.filter(({ name, part }) => (list || parts.has(part)) && name.includes(only))
}

/** A row that fails costs no other. */
async function measureAll(rows: Row[], { conditions }: Options): Promise<Outcome> {
  const servers = await createServers()
  let world: Promise<World> | undefined
  const stop = async () => {
    await servers.stop()
    await (await world?.catch(() => undefined))?.stop()
    await servers.remove()
  }
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, () => void stop().finally(() => process.exit(EXIT_INTERRUPTED)))
  const progress = createProgress(rows.length)
  const outcome: Outcome = { results: [], failures: [] }
  try {
    for (const row of rows) {
      progress.next(row.name)
      const business: Business[] = []
      const bench: Bench = {
        conditions,
        servers,
        world: () => {
          world ??= startWorld(progress)
          return world
        },
        progress: progress.say,
        measuredWhile: (noted) => void business.push(noted),
      }
      try {
        const measurement = await row.measure(bench)
        outcome.results.push({
          name: row.name,
          measuredAt: new Date().toISOString(),
          conditions,
          ...measurement,
          business,
        })
      } catch (error) {
        progress.say(`failed: ${(error as Error).message}`)
        outcome.failures.push({ name: row.name, error })
      }
    }
  } finally {
    progress.end()
    await stop()
  }
  return outcome

  async function startWorld(progress: Progress): Promise<World> {
    progress.say('starting Postgres, Redis and the services')
    return createWorld(servers)
  }
}

function show(text: string): number {
  process.stdout.write(text)
  return 0
}

function complain(text: string, code = 1): number {
  process.stderr.write(`${text}\n`)
  return code
}

process.exit(await main())
