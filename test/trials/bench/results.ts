import { readdir, readFile, writeFile } from 'node:fs/promises'
import { cpus, totalmem } from 'node:os'
import { join } from 'node:path'
import { type Business, businessText } from './quiet.ts'
import type { Finding } from './row.ts'
import { ROWS } from './rows.ts'
import { findingsTable } from './table.ts'

/** A file for each model of CPU: machines differ by a third. */
const RESULTS = join(import.meta.dirname, 'results')
const README = join(import.meta.dirname, 'README.md')
const TABLE = /(?<=<!-- results: begin -->\n).*(?=<!-- results: end -->)/s
const SIGNIFICANT_DIGITS = 4

export interface RowResult {
  name: string
  measuredAt: string
  findings: Finding[]
  /** Empty where nothing was measured in rounds. */
  business: Business[]
}

export interface Results {
  /** The model of the CPU. */
  cpu: string
  machine: string
  rows: RowResult[]
}

/** This machine: the model of its CPU, and all that figures depend on. */
export function machine() {
  const cores = cpus()
  const cpu = (cores[0]?.model ?? '').replace(/\((?:R|TM)\)|\bProcessor\b/g, '').trim()
  const gibibytes = Math.round(totalmem() / 2 ** 30)
  return { cpu, machine: `${cores.length} cores of ${cpu}, ${gibibytes} GiB, Node ${process.versions.node}` }
}

/** Adds to what this model of CPU had measured before, and writes the table of all models. */
export async function saveResults({ cpu, machine, rows }: Results): Promise<void> {
  const saved = await Promise.all(
    (await readdir(RESULTS)).map(
      async (name): Promise<Results> => JSON.parse(await readFile(join(RESULTS, name), 'utf8')),
    ),
  )
  const before = saved.find((results) => results.cpu === cpu)?.rows ?? []
  const results = { cpu, machine, rows: inOrder([...before, ...rows]) }
  const lines = results.rows.map((row) => JSON.stringify(row, short))
  const head = JSON.stringify({ cpu, machine }).slice(0, -1)
  const file = join(RESULTS, `${cpu.replace(/\W+/g, '-').toLowerCase()}.json`)
  await writeFile(file, `${head},"rows":[\n${lines.join(',\n')}\n]}\n`)
  const files = [results, ...saved.filter((others) => others.cpu !== cpu)]
  const machines = files
    .map(({ machine, rows }) => `- ${machine}. ${businessText(rows)}`.trimEnd())
    .join('\n')
  const text = await readFile(README, 'utf8')
  await writeFile(
    README,
    text.replace(TABLE, () => `\n${machines}\n\n${findingsTable(files)}\n\n`),
  )
}

/** The latest of each row, in the order of the table. Rows that are no longer measured are left out. */
function inOrder(rows: RowResult[]): RowResult[] {
  const byName = new Map(rows.map((row) => [row.name, row]))
  return ROWS.flatMap(({ name }) => byName.get(name) ?? [])
}

const short = (_key: string, value: unknown) =>
  typeof value === 'number' ? Number(value.toPrecision(SIGNIFICANT_DIGITS)) : value
