import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { cpus, totalmem } from 'node:os'
import { join } from 'node:path'
import { type Business, businessText } from './quiet.ts'
import type { Finding } from './row.ts'
import { ROWS } from './rows.ts'
import { findingsTable } from './table.ts'

const at = (name: string): string => join(import.meta.dirname, name)
/** A file for each model of CPU: machines differ by a third. */
const RESULTS = at('results')
const README = at('README.md')
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
export function machine(): Pick<Results, 'cpu' | 'machine'> {
  const all = cpus()
  const cpu = (all[0]?.model ?? '').replace(/\((?:R|TM)\)|\bProcessor\b/g, '').trim()
  const gibibytes = Math.round(totalmem() / 2 ** 30)
  return { cpu, machine: `${all.length} cores of ${cpu}, ${gibibytes} GiB, Node ${process.versions.node}` }
}

const short = (_key: string, value: unknown) =>
  typeof value === 'number' ? Number(value.toPrecision(SIGNIFICANT_DIGITS)) : value

/** Adds to what this model of CPU had measured before, and writes the table of all models. */
export async function saveResults(measured: Results): Promise<void> {
  await mkdir(RESULTS, { recursive: true })
  const file = join(RESULTS, `${measured.cpu.replace(/\W+/g, '-').toLowerCase()}.json`)
  const before: Results = JSON.parse(await readFile(file, 'utf8').catch(() => '{"rows":[]}'))
  const results = { ...measured, rows: inOrder([...before.rows, ...measured.rows]) }
  const lines = results.rows.map((row) => JSON.stringify(row, short))
  const head = JSON.stringify({ cpu: results.cpu, machine: results.machine }).slice(0, -1)
  await writeFile(file, `${head},"rows":[\n${lines.join(',\n')}\n]}\n`)
  const others = (await readdir(RESULTS)).map(async (name) =>
    JSON.parse(await readFile(join(RESULTS, name), 'utf8')),
  )
  const all = (await Promise.all(others)).filter(({ cpu }: Results) => cpu !== results.cpu)
  await writeFile(README, withTable(await readFile(README, 'utf8'), [results, ...all]))
}

/** The latest of each row, in the order of the table. Rows that are no longer measured are left out. */
function inOrder(rows: readonly RowResult[]): RowResult[] {
  const byName = new Map(rows.map((row) => [row.name, row]))
  return ROWS.flatMap(({ name }) => byName.get(name) ?? [])
}

const TABLE = /(<!-- results: begin -->\n)[\s\S]*(<!-- results: end -->)/

function withTable(text: string, all: readonly Results[]): string {
  const machines = all.map(({ machine, rows }) => `- ${machine}. ${businessText(rows)}`.trimEnd()).join('\n')
  return text.replace(TABLE, (_all, begin, end) => `${begin}\n${machines}\n\n${findingsTable(all)}\n\n${end}`)
}
