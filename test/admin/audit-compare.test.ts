import assert from 'node:assert/strict'
import { appendFile, readFile, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { addPerson, freshAdmin, PASSWORD, sharedAdmin, succeeded } from '../support/admin.ts'
import { afterwards } from '../support/block.ts'

const add = (id: number | string, action = 'x', at = 'at') =>
  `alter table activity drop constraint if exists activity_in_range;
   insert into activity (entry_id, operator, action, subject, at) overriding system value
   select ${id}, 'Eve', '${action}', subject, ${at} from activity where entry_id = 6;`
const PATH = `grant usage on schema shadow to public;
  do $$ begin
    execute format('alter database %I set search_path = shadow, pg_catalog, public', current_database());
  end $$`
const SHADOW = `create schema shadow; create table shadow.activity as table activity;
  delete from activity where entry_id = 6;
  grant select on shadow.activity to public; ${PATH}`
const DATED = `create schema shadow; create function shadow.to_char(timestamp, text) returns text language sql
  return pg_catalog.to_char($1 + case when $1 < '2021-01-01' then interval '10 years' else '0' end, $2);
  update activity set at = at - interval '10 years' where entry_id = 6; ${PATH}`
const FRACTION = `alter table activity alter entry_id drop identity;
  alter table activity alter entry_id type float8;`
const FIRST = 'delete from activity where entry_id = 1;'
const BEFORE_CHRIST = `alter table activity drop constraint if exists activity_in_range;
  update activity set at = (to_char(at, 'YYYY-MM-DD HH24:MI:SS.MS') || 'Z BC')::timestamptz where entry_id = 6`
const CHANGED_AFTER_ERASURE = `update activity set detail = '{"after": "owner"}' where entry_id = 6`
const BLANK = `update activity set detail = '{}' where entry_id = 6;`
const unlogged = (entryId: string) => `Entry ${entryId} is not in the log.`

describe('admin audit export', () => {
  const operator = sharedAdmin({ withAcme: true })

  it('prints each entry once, oldest first, however many there are', async () => {
    await operator.db.raw(
      `insert into activity (operator, action, subject) select 'Eve', 'x', 's' from generate_series(1, 1100)`,
    )
    const { stdout } = await succeeded(operator.admin(['audit', 'export']))
    const ids = await operator.db('activity').orderBy('entry_id').pluck('entry_id')
    const lines = stdout.trim().split('\n')
    const printed = lines.map((line) => JSON.parse(line).entryId)
    assert.deepEqual(printed, ids)
  })

  it('begins with the first entry from a time on, in any zone', async () => {
    for (const at of ['21:59:59.999', '22:00:00'])
      await operator.db.raw(`insert into activity (operator, action, subject, at)
        values ('Eve', 'x', '${at}', '2030-10-31T${at}Z')`)
    const args = ['audit', 'export', '--since', '2030-11-01T00:00:00+02:00']
    const { stdout } = await succeeded(operator.admin(args))
    assert.equal(JSON.parse(stdout).subject, '22:00:00')
  })
})

describe('admin audit compare', () => {
  const file = join(tmpdir(), `integration-access-activity-${process.pid}.ndjson`)
  const operator = freshAdmin({ withAcme: true })
  const run = (...args: string[]) => operator.admin(args, PASSWORD)
  beforeEach(async () => {
    await addPerson(operator, 'kim@acme.example', 'member')
    const service = await run('service', 'create', '--name', 'Boost')
    await operator.db.raw(`select nextval('activity_entry_id_seq')`)
    const change = await run('member', 'set-role', 'ven_acme', 'kim@acme.example', 'admin')
    await writeFile(file, `${service.stderr}${change.stderr}`)
  })

  it('finds no difference, in any order of the lines, and after an erasure', async () => {
    const { stderr } = await succeeded(run('person', 'erase', 'kim@acme.example', '--yes'))
    const lines = `${await readFile(file, 'utf8')}${stderr}no line`.split('\n')
    await writeFile(file, [...lines.toReversed(), ...lines].join('\n'))
    assert.equal((await run('audit', 'compare', file)).stdout, 'The database has what the file says.\n')
  })

  it('finds no difference after the company was erased', async () => {
    await operator.db.raw(`${BLANK} insert into activity (vendor_id, operator, action, subject)
      values ('ven_acme', 'Eve', 'company.erased', 'ven_acme')`)
    const { stdout } = await run('audit', 'export')
    await appendFile(file, stdout.trim().split('\n').at(-1)?.replace('{', '{"event":"activity",') ?? '')
    assert.equal((await run('audit', 'compare', file)).stdout, 'The database has what the file says.\n')
  })

  it('refuses a file with a line that it cannot read', async () => {
    for (const line of ['"event":"activity"', '{"event":"activity"}', 'x'.repeat(2_000_000)]) {
      await writeFile(`${file}.cut`, line)
      assert.match((await run('audit', 'compare', `${file}.cut`)).stderr, /^Line 1 of .* cannot be read/)
    }
  })

  it('may read a large file for longer than another transaction may do nothing', async () => {
    const { query } = pg.Client.prototype
    const ask = query as (...given: unknown[]) => Promise<pg.QueryResult>
    const limits: Promise<pg.QueryResult>[] = []
    await using _ = afterwards(() => Object.assign(pg.Client.prototype, { query }))
    pg.Client.prototype.query = function (this: pg.Client, ...given: unknown[]) {
      limits.push(ask.call(this, 'show idle_in_transaction_session_timeout'))
      return ask.apply(this, given)
    } as typeof query
    await succeeded(run('audit', 'compare', file))
    const last = (await Promise.all(limits)).at(-1)
    assert.deepEqual(last?.rows, [{ idle_in_transaction_session_timeout: '0' }])
  })

  for (const [what, sql, expected] of [
    ['removed', 'delete from activity where entry_id = 6', 'Entry 6 is not in the database.'],
    ['removed with all others', 'truncate activity', 'Entry 6 is not in the database.'],
    ['removed, and shown to the operator elsewhere', SHADOW, 'Entry 6 is not in the database.'],
    ['changed', `update activity set operator = 'Eve' where entry_id = 6`, 'Entry 6 was changed.'],
    ['dated otherwise, and shown to the operator as before', DATED, 'Entry 6 was changed.'],
    ['emptied as if erased', `${BLANK} ${add(99, 'person.erased')}`, 'Entry 6 was changed.'],
    ['doubled', `alter table activity drop constraint activity_pkey; ${add(6)}`, 'Entry 6 was changed.'],
    ['added', add(9_007_199_254_740_991), unlogged('9007199254740991')],
    ['added, and dated earlier', add(5, 'x', `'2020-01-01'`), unlogged('5')],
    ['added with a number before all others', add(0), unlogged('0')],
    ['added with the next number, and dated earlier', add(99, 'x', `'2020-01-01'`), unlogged('99')],
    ['added with the next number, and dated never', add(99, 'x', `'infinity'`), unlogged('99')],
    ['added with a number before all others, and dated never', add(-2, 'x', `'infinity'`), unlogged('-2')],
    ['added with the next number, and dated beyond', add(99, 'x', `'10000-01-01Z'`), unlogged('99')],
    ['added among the first, and dated beyond', `${FIRST} ${add(1, 'x', `'10000-01-01Z'`)}`, unlogged('1')],
    ['added with a number that JavaScript rounds', add('9007199254740993'), unlogged('9007199254740993')],
    ['added with the lowest number there is', add('-9223372036854775808'), unlogged('-9223372036854775808')],
    ['added five thousand and one times', add('-generate_series(1, 5001)'), '\nAnd 4001 more.'],
    ['added with a number between two others', `${FRACTION} ${add('4.5')}`, 'is not a table'],
    ['dated as long before Christ', BEFORE_CHRIST, 'Entry 6 was changed.'],
    ['changed though the person was erased', CHANGED_AFTER_ERASURE, 'Entry 6 was changed.'],
    ['hidden by a policy', `${add(9)} alter table activity enable row level security`, 'row-level security'],
    ['behind a view', 'alter table activity rename to a; create view activity as table a', 'is not a table'],
  ] as const)
    it(`finds an entry that is ${what}`, async () => {
      if (sql === CHANGED_AFTER_ERASURE) {
        const { stderr } = await succeeded(run('person', 'erase', 'kim@acme.example', '--yes'))
        await appendFile(file, stderr)
      }
      await operator.db.raw(sql)
      const { code, stdout, stderr } = await run('audit', 'compare', file)
      const [shown, exitCode] = /^(is not|row)/.test(expected) ? [stderr, 1] : [stdout, 3]
      assert.deepEqual([code, shown.includes(expected)], [exitCode, true], `${stdout}${stderr}`)
    })
})
