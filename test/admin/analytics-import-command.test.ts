import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { createAcme, runAdmin, startAdmin, type TestAdmin } from '../support/admin.ts'
import { recount, storedDays } from '../support/analytics.ts'
import { eventually } from '../support/eventually.ts'
import { removeFolder, temporaryFolder } from '../support/start.ts'

const HEADER = 'eventId,type,occurredAt\n'
const click = (id: string, date = '2020-01-01') => `${id},click,${date}T12:00:00Z\n`

describe('admin analytics import', () => {
  let operator: TestAdmin
  let folder: string
  before(async () => {
    operator = await startAdmin()
    await createAcme(operator)
    folder = await temporaryFolder()
  })
  after(async () => {
    await operator.stop()
    await removeFolder(folder)
  })

  let files = 0
  async function fileOf(content: string, extension = 'csv'): Promise<string> {
    const file = join(folder, `events-${++files}.${extension}`)
    await writeFile(file, content)
    return file
  }
  const importing = (file: string, ...args: string[]) =>
    operator.admin(['analytics', 'import', file, '--company', 'ven_acme', ...args])

  it('says in words what it did', async () => {
    const { code, stdout, stderr } = await importing(await fileOf(HEADER + click('a') + click('a')))
    assert.equal(stdout, '2 lines: 1 stored, 1 already known, 0 refused.\n')
    const { event, action, vendorId } = JSON.parse(stderr)
    assert.deepEqual([event, action, vendorId], ['activity', 'analytics.imported', 'ven_acme'])
    assert.equal(code, 0)
  })

  it('reports as JSON, and takes a file of any name', async () => {
    const file = await fileOf('{"eventId":"n1","type":"click","occurredAt":"2020-01-02T12:00:00Z"}\n', 'log')
    const { code, json } = await importing(file, '--format', 'ndjson', '--json')
    assert.deepEqual(json, {
      lines: 1,
      accepted: 1,
      duplicates: 0,
      refused: 0,
      refusedFile: null,
      stopped: false,
    })
    assert.equal(code, 0)
  })

  it('finds a file from the folder that npm was called in', async () => {
    const file = await fileOf(HEADER + click('cwd'))
    const { stdout } = await runAdmin(['analytics', 'import', basename(file), '--company', 'ven_acme'], {
      env: { ...operator.env, INIT_CWD: folder },
    })
    assert.match(stdout, /1 stored/)
  })

  it('names the list of refused lines, and exits with 3', async () => {
    const file = await fileOf(`${HEADER}${click('b1')}b2,click,never\n`)
    const { code, stdout } = await importing(file)
    assert.equal(
      stdout,
      `2 lines: 1 stored, 0 already known, 1 refused.\nThe refused lines are listed in ${file}.refused.csv\n`,
    )
    assert.equal(code, 3)
  })

  it('says in a sentence what is unusable, and exits with 1', async () => {
    const file = await fileOf(HEADER)
    for (const [args, sentence] of [
      [
        [join(folder, 'missing.csv'), '--company', 'ven_acme'],
        /^The file .*missing\.csv does not exist\.\n$/,
      ],
      [[file, '--company', 'ven_nobody'], /^There is no company ven_nobody\.\n$/],
      [[await fileOf('x\n'), '--company', 'ven_acme'], /^The header line must name each column once: .*\n$/],
      [
        [await fileOf('x\n', 'xlsx'), '--company', 'ven_acme'],
        /^The extension of .*\.xlsx is neither CSV nor NDJSON/,
      ],
    ] as const) {
      const { code, stderr, stdout } = await operator.admin(['analytics', 'import', ...args])
      assert.match(stderr, sentence)
      assert.equal(stdout, '')
      assert.equal(code, 1)
    }
  })

  it('asks for the company', async () => {
    const { code, stderr } = await operator.admin(['analytics', 'import', await fileOf(HEADER)])
    assert.match(stderr, /^error: required option '--company <vendor_id>' not specified/)
    assert.equal(code, 64)
  })

  it('explains in --help when it is safe to run it again', async () => {
    const { stdout } = await operator.admin(['analytics', 'import', '--help'])
    assert.match(stdout, /finish an import within 30 days/)
    assert.match(stdout, /eventId, type, occurredAt, quantity, amountMinor, currency/)
  })

  it('stops after a piece on SIGINT, exits with 1, and stores the rest when run again', async () => {
    const lines = Array.from({ length: 20_000 }, (_, n) => click(`s${n}`, `2021-01-${10 + (n % 20)}`))
    const file = await fileOf(HEADER + lines.join(''))
    const child = spawn(
      process.execPath,
      ['infra/admin/main.ts', 'analytics', 'import', file, '--company', 'ven_acme', '--json'],
      { env: { ...process.env, ...operator.env }, stdio: ['ignore', 'pipe', 'inherit'] },
    )
    let output = ''
    child.stdout.on('data', (chunk) => {
      output += chunk
    })
    const stored = async () =>
      Number(
        (await operator.db.raw("select sum(clicks) as n from analytics_daily where date >= '2021-01-01'"))
          .rows[0].n,
      )
    await eventually(async () => (await stored()) > 0, { every_ms: 5 })
    child.kill('SIGINT')
    const [code] = await once(child, 'close')
    assert.equal(code, 1)
    const first = JSON.parse(output)
    assert.equal(first.stopped, true)
    assert.equal(await stored(), first.accepted)
    const { json } = await importing(file, '--json')
    assert.deepEqual([json.accepted, json.duplicates], [20_000 - first.accepted, first.accepted])
    assert.deepEqual(await storedDays(operator.db, 'ven_acme'), await recount(operator.db, 'ven_acme'))
  })
})
