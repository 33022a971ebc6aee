import assert from 'node:assert/strict'
import { parseYaml } from '../support/deployment.ts'
import { find, read } from '../support/project.ts'

const MIGRATIONS = 'infra/database/migrations'

/** The tables that a module or room owns, and the SQL of others on a table. */
const { owned: OWNED, exceptions: EXCEPTIONS } = parseYaml(read('test/lint/tables.yaml')) as {
  owned: Record<string, string>
  exceptions: Record<string, [tables: string, because: string]>
}

const COMMENT_LINE = /^\s*(?:\/\/|\/\*|\*\s|\*\/).*$/gm

/** Returns the tables that the SQL in a module names, comments and names of TypeScript apart. */
function tablesIn(module: string, tables: readonly string[]): string[] {
  const code = module.replace(COMMENT_LINE, '')
  const name = `(?:public\\.)?(${tables.join('|')})\\b`
  const patterns = [
    // After its keyword, or second in a list of `from`.
    `\\b(?:from|join|into|update|using|only|table|truncate)\\s+(?:only\\s+)?${name}(?![.-])`,
    `\\bfrom\\s+\\w+(?:\\s+\\w+)?,\\s*${name}`,
    // By the query builder, or where a string is inserted into SQL.
    `\\b(?:\\w*[dD]b|transaction|from|into|table)\\('${name}'`,
    `'(${tables.filter((table) => table.includes('_')).join('|')})'`,
  ]
  const found = patterns.flatMap((pattern) =>
    [...code.matchAll(new RegExp(pattern, 'g'))].map(([, table = '']) => table),
  )
  return [...new Set(found)].sort()
}

describe('the SQL of a table', () => {
  const migrations = find(`${MIGRATIONS}/*.sql`)
  const created = /^\s*create (?:unlogged )?table (\w+)/gm
  const tables = migrations.flatMap((file) => [...read(file).matchAll(created)].map(([, name = '']) => name))
  const files = find('{apps/api,apps/auth,shared,infra}/**/*.ts')
  const uses = files.map((file) => ({ file, named: tablesIn(read(file), tables) }))
  const isOwner = (file: string, table: string): boolean =>
    Object.entries(OWNED).some(
      ([owner, owned]) => `${file}/`.startsWith(`${owner}/`) && owned.split(' ').includes(table),
    )

  it('has a module or room for each table', () => {
    assert.ok(tables.length > 25, `only ${tables.length} tables`)
    assert.deepEqual(new Set(Object.values(OWNED).join(' ').split(' ')), new Set(tables))
  })

  it('is in that module or room alone, but for the exceptions', () => {
    const strangers = uses.flatMap(({ file, named }) => {
      const foreign = named.filter((table) => !isOwner(file, table))
      return foreign.length > 0 ? [[file, foreign]] : []
    })
    const exceptions = Object.entries(EXCEPTIONS).map(([file, [names]]) => [file, names.split(' ')])
    assert.deepEqual(Object.fromEntries(strangers), Object.fromEntries(exceptions))
  })

  it('is spread over Citus, one shard after another, in the order in which reports lock the tables', () => {
    const [events = '', citus = ''] = ['migrations/0004_analytics', 'citus'].map((name) =>
      read(`infra/database/${name}.sql`),
    )
    const [, storing] = events.split('create function store_analytics_events')
    const locked = new Set(storing?.match(/(?<=insert into public\.)\w+/g))
    const spread = citus.match(/(?<=create_distributed_table\(')\w+(?=', 'vendor_id')/g)
    assert.deepEqual(spread, [...locked])
    assert.deepEqual(citus.match(/(?<=logicalrelid = ')\w+/g), spread)
    assert.match(citus, /^set local citus\.multi_shard_modify_mode = 'sequential';$/m)
  })
})
