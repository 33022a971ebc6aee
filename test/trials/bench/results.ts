import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { cpus, totalmem } from 'node:os'
import { dirname, join } from 'node:path'
import { type Bar, drawChart } from './chart.ts'
import { meets } from './goals.ts'
import { PEER_PREFIX } from './peers.ts'
import { type Business, businessText } from './quiet.ts'
import { type Conditions, judged, type Measurement } from './row.ts'
import { ROWS } from './rows.ts'
import { goalTables, loadsTable } from './table.ts'

const at = (name: string): string => join(import.meta.dirname, name)
/** Not in the tree: it holds what this machine measured, with the plans of the statements. */
const RESULTS = join(import.meta.dirname, '../../node_modules/.cache/bench-results.json')
const CHART = at('chart.svg')
const README = at('README.md')
const SIGNIFICANT_DIGITS = 4

export interface RowResult extends Measurement {
  name: string
  measuredAt: string
  conditions: Conditions
  /** Empty where nothing was measured in rounds. */
  business: Business[]
}

export interface Results {
  machine: string
  rows: RowResult[]
}

export function machine(): string {
  const all = cpus()
  const gibibytes = Math.round(totalmem() / 2 ** 30)
  return `${all.length} cores of ${all[0]?.model.trim()}, ${gibibytes} GiB, Node ${process.versions.node}`
}

export async function writeResults(file: string, results: Results): Promise<void> {
  const short = (_key: string, value: unknown) =>
    typeof value === 'number' ? Number(value.toPrecision(SIGNIFICANT_DIGITS)) : value
  await writeFile(file, `${JSON.stringify(results, short, 2)}\n`)
}

/** Adds to what was saved before; figures of another machine do not stand beside these and are left out. */
export async function saveResults(results: Results): Promise<void> {
  const before: Results = JSON.parse(await readFile(RESULTS, 'utf8').catch(() => '{"machine":"","rows":[]}'))
  const kept = before.machine === results.machine ? before.rows : []
  const byName = new Map([...kept, ...results.rows].map((row) => [row.name, row]))
  const peers = [...byName.keys()].filter((name) => name.startsWith(PEER_PREFIX))
  const rows = [...ROWS.map(({ name }) => name), ...peers].flatMap((name) => byName.get(name) ?? [])
  await mkdir(dirname(RESULTS), { recursive: true })
  await writeResults(RESULTS, { ...results, rows })
  await writeFile(CHART, drawChart('Measured beside the goals', rows.flatMap(barsOf)))
  await writeFile(README, withTables(await readFile(README, 'utf8'), { ...results, rows }))
}

function barsOf({ findings }: RowResult): Bar[] {
  return findings.flatMap((finding) => {
    const { what: label, beside = '', unit, goal } = finding
    const ratio = judged(finding)
    return unit === 'ratio' && goal ? [{ label, beside, ratio, goal, met: meets(goal, ratio) }] : []
  })
}

const TABLES = /(<!-- results: begin -->\n)[\s\S]*(<!-- results: end -->)/

function withTables(text: string, { machine, rows }: Results): string {
  const tables = [goalTables(rows), loadsTable(rows)].join('\n\n')
  return text.replace(
    TABLES,
    (_all, begin, end) => `${begin}\n${machine}. ${businessText(rows)}\n\n${tables}\n\n${end}`,
  )
}
