import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Knex } from 'knex'
import { fillTables } from './filled-tables.ts'
import { type HttpRequest, send } from './requests.ts'
import type { Plan } from './row.ts'
import { POSTGRES_LOG, type ServiceName, type World } from './world.ts'

/** Postgres plans a named statement anew for its first five runs and may then settle on one plan for all. */
const REPEATS = 7
/**
 * One row, one for each signing key, one for each restored backup, one for each partition, database or role, and none
 * as long as there is a partition for the day: these do not grow with the work.
 */
const NEVER_LARGE = new Set([
  'revocation_trust',
  'signing_keys',
  'revoked_signing_keys',
  'restore_fences',
  'pg_inherits',
  'pg_database',
  'pg_authid',
  'analytics_events_default',
])

interface Node {
  'Node Type': string
  'Relation Name'?: string
  'Index Name'?: string
  'Function Name'?: string
  'Actual Rows': number
  'Actual Loops': number
  'Shared Hit Blocks': number
  'Shared Read Blocks': number
  Plans?: Node[]
}

interface Explained {
  'Query Text': string
  Plan: Node
}

/**
 * EXPLAIN (ANALYZE, BUFFERS) of every statement that a service runs for these requests, as Postgres itself reports
 * them. The service is one more process of it. New connections of its role are explained meanwhile, those that are
 * measured are not.
 * @returns for each statement and each way to run it the plan that read the most.
 * @throws Error when one reads a whole table that grows.
 */
export async function plansOf(world: World, name: ServiceName, requests: HttpRequest[]): Promise<Plan[]> {
  await fillTables(world)
  const role = `integration_${name}`
  const since = new Date()
  await explaining(world.db, role, async () => {
    const server = await world.startService(name, { place: 'anywhere' })
    for (let repeat = 1; repeat <= REPEATS; repeat++) {
      for (const request of requests) await (await send(server, request)).text()
    }
    await server.stop()
  })
  const found = await explainedSince(world, role, since)
  if (found.length === 0) throw new Error('no statement was explained')
  const scanned = found.filter(({ Plan }) => nodesOf(Plan).some(readsWholeTable))
  if (scanned.length > 0)
    throw new Error(
      `a table that grows is read whole:\n${dearest(scanned).map(described).map(planText).join('\n')}`,
    )
  return dearest(found).map(described)
}

function dearest(found: Explained[]): Explained[] {
  const byShape = new Map<string, Explained>()
  for (const one of found) {
    const shape = one['Query Text'] + nodesOf(one.Plan).map(title).join()
    const known = byShape.get(shape)
    if (!known || buffersOf(one.Plan) > buffersOf(known.Plan)) byShape.set(shape, one)
  }
  return [...byShape.values()]
}

const EXPLAIN = {
  session_preload_libraries: 'auto_explain',
  'auto_explain.log_min_duration': '0',
  'auto_explain.log_analyze': 'on',
  'auto_explain.log_buffers': 'on',
  'auto_explain.log_nested_statements': 'on',
  'auto_explain.log_format': 'json',
  'auto_explain.log_parameter_max_length': '0',
}

async function explaining(db: Knex, role: string, work: () => Promise<void>): Promise<void> {
  for (const [name, value] of Object.entries(EXPLAIN))
    await db.raw(`alter role ${role} set ${name} = '${value}'`)
  try {
    await work()
  } finally {
    for (const name of Object.keys(EXPLAIN)) await db.raw(`alter role ${role} reset ${name}`)
  }
}

async function explainedSince({ directory }: World, role: string, since: Date): Promise<Explained[]> {
  const folder = join(directory, 'postgres', POSTGRES_LOG)
  const found: Explained[] = []
  for (const name of (await readdir(folder)).filter((file) => file.endsWith('.json'))) {
    for (const line of (await readFile(join(folder, name), 'utf8')).split('\n').filter(Boolean)) {
      const { user, timestamp, message } = JSON.parse(line)
      const plan = /^duration: [^{]*plan:\n(.*)$/s.exec(message)?.[1]
      if (user === role && plan && new Date(timestamp) >= since) found.push(JSON.parse(plan))
    }
  }
  return found
}

const nodesOf = (node: Node): Node[] => [node, ...(node.Plans ?? []).flatMap(nodesOf)]

const readsWholeTable = (node: Node): boolean =>
  node['Node Type'] === 'Seq Scan' && !NEVER_LARGE.has(node['Relation Name'] ?? '')

function described({ 'Query Text': query, Plan }: Explained): Plan {
  return { statement: query.replace(/\s+/g, ' ').trim(), nodes: lines(Plan, 1) }
}

export const planText = ({ statement, nodes }: Plan): string => [statement, ...nodes].join('\n')

function lines(node: Node, depth: number): string[] {
  const { 'Actual Rows': rows, 'Actual Loops': loops } = node
  const line = `${title(node)}: ${rows} rows × ${loops}, ${buffersOf(node)} buffers`
  return [`${'  '.repeat(depth)}→ ${line}`, ...(node.Plans ?? []).flatMap((child) => lines(child, depth + 1))]
}

function title(node: Node): string {
  const index = node['Index Name'] ? ` using ${node['Index Name']}` : ''
  const relation = node['Relation Name'] ?? node['Function Name']
  return `${node['Node Type']}${index}${relation ? ` on ${relation}` : ''}`
}

const buffersOf = (node: Node): number => node['Shared Hit Blocks'] + node['Shared Read Blocks']
