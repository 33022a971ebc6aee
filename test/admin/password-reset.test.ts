import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { verifyPassword } from '#shared/accounts/passwords.ts'
import { createAcme, PASSWORD, startAdmin, type TestAdmin } from '../support/admin.ts'

const NEW = 'another, longer password'
const LONG = 'wrong donkey capacitor nail '.repeat(40)
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
    assert.equal(stdout, 'owner@acme.example has a new password; all sessions were ended.\n')
    assert.ok(await verifyPassword(NEW, await stored()))
    assert.deepEqual(await operator.db('sessions'), [])
  })

  it('keeps spaces and every character but the end of the line', async () => {
    await operator.admin(['password', 'reset', 'owner@acme.example'], '  spaced pässword  \r\n')
    assert.ok(await verifyPassword('  spaced pässword  ', await stored()))
  })

  it('refuses an unknown account, before it asks', async () => {
    const { code, stderr } = await operator.admin(['password', 'reset', 'nobody@acme.example'], NEW)
    assert.equal(code, 1)
    assert.equal(stderr, 'There is no account for nobody@acme.example.\n')
  })

  for (const [what, password, sentence] of [
    [
      '11 characters',
      'a'.repeat(11),
      /^The password must have at least 12 characters\. Nothing was changed\.$/m,
    ],
    ['11 characters of 4 bytes each', '🔒'.repeat(11), /^The password must have at least 12 characters/m],
    ['one of the commonest', 'password1234', /^The password must not be one of the most common passwords/m],
    ['1025 bytes', LONG.slice(0, 1_025), /^A password can have at most 1024 bytes\. Nothing was changed\.$/m],
  ] as const)
    it(`refuses a password of ${what} and changes nothing`, async () => {
      const { code, stderr } = await operator.admin(['password', 'reset', 'owner@acme.example'], password)
      assert.equal(code, 1)
      assert.match(stderr, sentence)
      assert.ok(await verifyPassword(PASSWORD, await stored()))
    })

  for (const password of ['twelve chars', LONG.slice(0, 1_024)])
    it(`accepts a password of ${password.length} characters`, async () => {
      const { code, stderr } = await operator.admin(['password', 'reset', 'owner@acme.example'], password)
      assert.equal(code, 0, stderr)
      assert.ok(await verifyPassword(password, await stored()))
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
        const deadline = Date.now() + 15_000
        while (shown.split(/: /).length < i + 2) {
          assert.ok(Date.now() < deadline, `no question:\n${shown}`)
          await sleep(20)
        }
        // Raw mode is set right after the question.
        await sleep(100)
        child.stdin.write(line)
      }
      return { code: await ended, shown }
    }

    it('asks twice, understands backspace and Ctrl-U, and shows no password', async () => {
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

    it('changes nothing at Ctrl-C', async () => {
      const { code, shown } = await typed(CTRL_C)
      assert.equal(code, 1)
      assert.match(shown, /Cancelled\. Nothing was changed\./)
      assert.ok(await verifyPassword(PASSWORD, await stored()))
    })
  })
})
