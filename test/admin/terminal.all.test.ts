import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { verifyPassword } from '#shared/accounts/passwords.ts'
import { createAcme, PASSWORD, startAdmin, type TestAdmin } from '../support/admin.ts'
import { eventually } from '../support/eventually.ts'
import { removeFolder, temporaryFolder } from '../support/start.ts'

const NEW = 'another, longer password'
const CTRL_C = '\x03'

describe('npm run admin at a terminal', () => {
  let operator: TestAdmin
  beforeEach(async () => {
    operator = await startAdmin()
    await createAcme(operator)
  })
  afterEach(() => operator.stop())

  const stored = async () => (await operator.db('users').first()).password_hash

  /** Types lines as they are asked for. */
  async function typed(...lines: string[]): Promise<{ code: number | null; shown: string }> {
    const command = `"${process.execPath}" infra/admin/main.ts password reset owner@acme.example`
    const child = spawn('script', ['-qec', command, '/dev/null'], {
      env: { ...process.env, ...operator.env },
    })
    let shown = ''
    child.stdout.on('data', (chunk) => {
      shown += chunk
    })
    const ended = new Promise<number | null>((resolve) => child.on('close', resolve))
    for (const [i, line] of lines.entries()) {
      await eventually(() => shown.split(/: /).length >= i + 2, { otherwise: () => `no question:\n${shown}` })
      // Raw mode is set right after the question.
      await sleep(100)
      child.stdin.write(line)
    }
    return { code: await ended, shown }
  }

  it('asks for a new password twice, understands backspace and Ctrl-U, and shows no password', async () => {
    const { code, shown } = await typed(`oops\x15${NEW}x\x7f\r`, `${NEW}\r`)
    assert.equal(code, 0, shown)
    assert.match(shown, /New password for owner@acme\.example: \r?\n/)
    assert.match(shown, /Again: \r?\n/)
    assert.ok(!shown.includes(NEW))
    assert.ok(await verifyPassword(NEW, await stored()))
  })

  it('changes nothing when the second password differs', async () => {
    const { code, shown } = await typed(`${NEW}\r`, `${NEW}!\r`)
    assert.equal(code, 1)
    assert.match(shown, /The two passwords differ\. Nothing was changed\./)
    assert.ok(await verifyPassword(PASSWORD, await stored()))
  })

  it('changes no password at Ctrl-C', async () => {
    const { code, shown } = await typed(CTRL_C)
    assert.equal(code, 1)
    assert.match(shown, /Cancelled\. Nothing was changed\./)
    assert.ok(await verifyPassword(PASSWORD, await stored()))
  })

  it('draws the progress of an import', async () => {
    const folder = await temporaryFolder()
    const file = join(folder, 'events.csv')
    const click = 'drawn,click,2020-01-01T12:00:00Z\n'
    await writeFile(file, `eventId,type,occurredAt\n${click}${click}`)
    const command = `${process.execPath} infra/admin/main.ts analytics import ${file} --company ven_acme`
    const { stdout } = await promisify(execFile)('script', ['-qec', command, '/dev/null'], {
      env: { ...process.env, ...operator.env },
    })
    const line = `\r\x1b[K${'█'.repeat(30)} 100% | 1 stored, 1 known, 0 refused | 0 s left\r\n2 lines: `
    assert.ok(stdout.includes(line), stdout)
    await removeFolder(folder)
  })
})
