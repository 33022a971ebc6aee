import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { verifyPassword } from '#shared/passwords.ts'
import { createAcme, PASSWORD, startAdmin, type TestAdmin } from '../support/admin.ts'

const NEW = 'another, longer password'
const CTRL_C = '\x03'

describe('admin password reset', () => {
  let operator: TestAdmin
  beforeEach(async () => {
    operator = await startAdmin()
    await createAcme(operator)
  })
  afterEach(() => operator.stop())

  const stored = async () => (await operator.db('users').first()).password_hash

  it('takes the password from a pipe and ends every session of the user', async () => {
    const { user_id } = await operator.db('users').first()
    await operator.db('sessions').insert({
      token_hash: randomBytes(32),
      user_id,
      created_at: new Date(),
      expires_at: new Date(Date.now() + 3_600_000),
    })
    const { code, stdout, stderr } = await operator.admin(
      ['password', 'reset', 'OWNER@acme.example'],
      `${NEW}\n`,
    )
    assert.equal(code, 0, stderr)
    assert.equal(stdout, 'owner@acme.example has a new password; every session was ended.\n')
    assert.ok(await verifyPassword(NEW, await stored()))
    assert.deepEqual(await operator.db('sessions'), [])
  })

  it('keeps spaces and every character but the end of the line', async () => {
    await operator.admin(['password', 'reset', 'owner@acme.example'], '  spaced pässword  \r\n')
    assert.ok(await verifyPassword('  spaced pässword  ', await stored()))
  })

  it('refuses an account that there is not, before it asks', async () => {
    const { code, stderr } = await operator.admin(['password', 'reset', 'nobody@acme.example'], NEW)
    assert.equal(code, 1)
    assert.equal(stderr, 'There is no account for nobody@acme.example.\n')
  })

  it('refuses a short one and changes nothing', async () => {
    const { code } = await operator.admin(['password', 'reset', 'owner@acme.example'], 'short')
    assert.equal(code, 1)
    assert.ok(await verifyPassword(PASSWORD, await stored()))
  })

  describe('at a terminal', () => {
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
        while (shown.split(/: /).length < i + 2) await sleep(20)
        // Raw mode is set right after the question.
        await sleep(100)
        child.stdin.write(line)
      }
      return { code: await ended, shown }
    }

    it('asks twice and shows nothing of it', async () => {
      const { code, shown } = await typed(`${NEW}\r`, `${NEW}\r`)
      assert.equal(code, 0, shown)
      assert.match(shown, /New password for owner@acme\.example: \r?\n/)
      assert.match(shown, /Again: \r?\n/)
      assert.ok(!shown.includes(NEW))
      assert.ok(await verifyPassword(NEW, await stored()))
    })

    it('understands backspace and Ctrl-U', async () => {
      const { code, shown } = await typed(`oops\x15${NEW}x\x7f\r`, `${NEW}\r`)
      assert.equal(code, 0, shown)
      assert.ok(await verifyPassword(NEW, await stored()))
    })

    it('changes nothing when the second differs', async () => {
      const { code, shown } = await typed(`${NEW}\r`, `${NEW}!\r`)
      assert.equal(code, 1)
      assert.match(shown, /The two passwords differ: nothing was changed\./)
      assert.ok(await verifyPassword(PASSWORD, await stored()))
    })

    it('changes nothing at Ctrl-C', async () => {
      const { code, shown } = await typed(CTRL_C)
      assert.equal(code, 1)
      assert.match(shown, /Called off: nothing was changed\./)
      assert.ok(await verifyPassword(PASSWORD, await stored()))
    })
  })
})
