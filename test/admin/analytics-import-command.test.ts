import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { refused, runAdmin, sharedAdmin, succeeded } from '../support/admin.ts'
import { recount, storedDays } from '../support/analytics.ts'
import { eventually } from '../support/eventually.ts'
import { sharedFolder } from '../support/folder.ts'

const click = (eventId: string, date = '2020-01-01') =>
  `${JSON.stringify({ eventId, type: 'click', occurredAt: `${date}T12:00:00Z` })}\n`

describe('admin analytics import', () => {
  const operator = sharedAdmin({ withAcme: true })
  const folder = sharedFolder()

  let files = 0
  async function fileOf(content: string): Promise<string> {
    const file = join(folder, `events-${++files}.ndjson`)
    await writeFile(file, content)
    return file
  }
  const importing = (file: string, ...args: string[]) =>
    operator.admin(['analytics', 'import', file, '--company', 'ven_acme', ...args])

  it('says in words what it did', async () => {
    const { code, stdout, stderr } = await importing(await fileOf(click('a') + click('a')))
    assert.equal(stdout, '2 lines: 1 stored, 1 already known, 0 refused.\n')
    const { event, action, vendorId } = JSON.parse(stderr)
    assert.deepEqual([event, action, vendorId], ['activity', 'analytics.imported', 'ven_acme'])
    assert.equal(code, 0)
  })

  it('reports as JSON', async () => {
    const { json } = await succeeded(importing(await fileOf(click('n1', '2020-01-02')), '--json'))
    assert.deepEqual(json, { lines: 1, accepted: 1, duplicates: 0, refused: 0 })
  })

  it('finds a file from the folder that npm was called in', async () => {
    const file = await fileOf(click('cwd'))
    const { stdout } = await runAdmin(['analytics', 'import', basename(file), '--company', 'ven_acme'], {
      env: { ...operator.env, INIT_CWD: folder },
    })
    assert.match(stdout, /1 stored/)
  })

  it('names refused lines on standard error, and exits with 3', async () => {
    const { code, stdout, stderr } = await importing(await fileOf(`${click('b1')}\n${click('b2', 'never')}`))
    assert.equal(stdout, '2 lines: 1 stored, 0 already known, 1 refused.\n')
    assert.match(stderr, /^line 3: occurredAt must be a time from 1970 on/)
    assert.equal(code, 3)
  })

  it('says in a sentence what is unusable, and exits with 1', async () => {
    for (const [file, company, sentence] of [
      [join(folder, 'missing.ndjson'), 'ven_acme', /^The file .*missing\.ndjson does not exist\.\n$/],
      [await fileOf(''), 'ven_nobody', /^There is no company ven_nobody\.\n$/],
    ] as const) {
      const { code, stderr, stdout } = await operator.admin([
        'analytics',
        'import',
        file,
        '--company',
        company,
      ])
      assert.match(stderr, sentence)
      assert.equal(stdout, '')
      assert.equal(code, 1)
    }
  })

  it('asks for the company', async () => {
    await refused(
      operator.admin(['analytics', 'import', await fileOf('')]),
      /^error: required option '--company <vendor_id>' not specified/,
      64,
    )
  })

  it('explains in --help when it is safe to run it again', async () => {
    const { stdout } = await operator.admin(['analytics', 'import', '--help'])
    assert.match(stdout, /finish an import within 30 days/)
    assert.match(stdout, /eventId,\ntype, occurredAt and, where needed, quantity, amountMinor, currency/)
  })

  it('leaves whole pieces when it is killed, and stores the rest when run again', async () => {
    const lines = Array.from({ length: 20_000 }, (_, n) => click(`s${n}`, `2021-01-${10 + (n % 20)}`))
    const file = await fileOf(lines.join(''))
    const child = spawn(
      process.execPath,
      ['infra/admin/main.ts', 'analytics', 'import', file, '--company', 'ven_acme'],
      { env: { ...process.env, ...operator.env }, stdio: ['ignore', 'ignore', 'inherit'] },
    )
    const stored = async () =>
      Number(
        (await operator.db.raw("select sum(clicks) as n from analytics_daily where date >= '2021-01-01'"))
          .rows[0].n,
      )
    await eventually(async () => (await stored()) > 0, { every_ms: 5 })
    child.kill('SIGKILL')
    await once(child, 'close')
    await eventually(async () => {
      const { rows } = await operator.db.raw(
        `select from pg_stat_activity where application_name = 'integration-admin' and datname = current_database()`,
      )
      return rows.length === 0
    })
    const first = await stored()
    assert.equal(first % 5_000, 0)
    const { json } = await importing(file, '--json')
    assert.deepEqual([json.accepted, json.duplicates], [20_000 - first, first])
    assert.deepEqual(await storedDays(operator.db, 'ven_acme'), await recount(operator.db, 'ven_acme'))
  })
})
