import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { refused, runAdmin, sharedAdmin } from '../support/admin.ts'
import { afterwards } from '../support/block.ts'
import { collectText } from '../support/collect-text.ts'
import { eventually } from '../support/eventually.ts'
import { sharedFolder } from '../support/folder.ts'
import { run } from '../support/program.ts'
import { untilBlocked } from '../support/stores.ts'

const click = (eventId: string, date = '2020-01-01') =>
  `${JSON.stringify({ eventId, type: 'click', occurredAt: `${date}T12:00:00Z` })}\n`

describe('admin analytics import', () => {
  const operator = sharedAdmin({ withAcme: true })
  const folder = sharedFolder()

  let files = 0
  async function writeEvents(content: string): Promise<string> {
    const file = join(folder, `events-${++files}.ndjson`)
    await writeFile(file, content)
    return file
  }
  const importing = (file: string, env = {}, company = 'ven_acme') =>
    runAdmin(['analytics', 'import', file, '--company', company], { env: { ...operator.env, ...env } })

  it('counts no event twice although EVENT_IDS_REMEMBERED_DAYS was raised after its id was forgotten', async () => {
    const file = await writeEvents(click('r1', '2018-01-01'))
    await importing(file)
    await operator.db.raw(`
      update analytics_daily set first_received_on = first_received_on - 45 where date = '2018-01-01';
      delete from analytics_event_ids where vendor_id = 'ven_acme' and event_id = 'r1'`)
    const { stdout } = await importing(file, { EVENT_IDS_REMEMBERED_DAYS: '60' })
    assert.match(stdout, / 0 stored, 0 already known, 1 refused/)
  })

  it('says in a sentence what is unusable, and exits with 1', async () => {
    await symlink('loop', join(folder, 'loop'))
    await run('mkfifo', [join(folder, 'pipe')])
    for (const [file, company, sentence] of [
      [join(folder, 'loop'), 'ven_acme', /^The file .*loop cannot be read: ELOOP\.\n$/],
      [join(folder, 'pipe'), 'ven_acme', /^.*pipe is not a file\.\n$/],
      [folder, 'ven_acme', /^.* is not a file\.\n$/],
      [await writeEvents(''), 'ven_nobody', /^There is no company ven_nobody\.\n$/],
    ] as const) {
      const { stdout } = await refused(importing(file, {}, company), sentence)
      assert.equal(stdout, '')
    }
  })

  it('says how far it is, and at a signal what is stored, which another run does not store again', async () => {
    const lines = Array.from({ length: 12_000 }, (_, n) => click(`i${n}`, '2019-01-01'))
    const file = await writeEvents(lines.join(''))
    // The second batch waits for this, as for another import of the same event.
    const other = await operator.db.transaction()
    await using _ = afterwards(() => other.rollback())
    await other.raw('set local idle_in_transaction_session_timeout = 0')
    await other('analytics_event_ids').insert({ vendor_id: 'ven_acme', event_id: 'i7000' })
    const args = ['infra/admin/main.ts', 'analytics', 'import', file, '--company', 'ven_acme', '--json']
    const child = spawn(process.execPath, args, { env: { ...process.env, ...operator.env } })
    const [stdout, stderr] = [collectText(child.stdout), collectText(child.stderr)]
    const progress = /^10,000 lines \(83 %\): 5,000 stored, 0 already known, [\d,]+ lines\/s \(\d+ s\)$/m
    await eventually(() => progress.test(stderr()))
    await untilBlocked(operator.db)
    child.kill('SIGTERM')
    child.kill('SIGINT')
    await eventually(() => /^Stopping once the batch under way is stored\.$/m.test(stderr()))
    await other.rollback()
    assert.deepEqual(await once(child, 'close'), [130, null])
    const stored = { lines: 10_000, accepted: 10_000, duplicates: 0, refused: 0 }
    assert.deepEqual(JSON.parse(stdout()), { ...stored, interrupted: true })
    assert.equal(stderr().match(/Stopping/g)?.length, 1)
    const again = await importing(file)
    assert.equal(again.stdout, '12,000 lines: 2,000 stored, 10,000 already known, 0 refused.\n')
  })

  it('says what Postgres says, without what is imported', async () => {
    const alter = (change: string) => operator.db.raw(`alter table analytics_event_ids ${change}`)
    await alter(`add constraint full_disk check (event_id <> 'full')`)
    await using _ = afterwards(() => alter('drop constraint full_disk'))
    await refused(
      importing(await writeEvents(click('full'))),
      /^(\{.*\}\n)?The import stopped: new row for relation "analytics_event_ids\w*" violates check constraint "full_disk\w*"\. What was stored is kept; run it again to store the rest\.\n$/,
    )
  })
})
