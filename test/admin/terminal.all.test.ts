import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { indexOfPassword } from '../../apps/api/accounts/passwords.ts'
import { freshAdmin, PASSWORD } from '../support/admin.ts'
import { collectText } from '../support/collect-text.ts'
import { eventually } from '../support/eventually.ts'

const NEW = 'another, longer password'
const CTRL_C = '\x03'

describe('npm run admin at a terminal', () => {
  const operator = freshAdmin({ withAcme: true })

  const stored = async () => (await operator.db('users').first()).password_hash

  const typed = (...lines: string[]) => typedInto('password reset owner@acme.example', ...lines)

  /** Types lines as they are asked for. */
  async function typedInto(args: string, ...lines: string[]) {
    const command = `"${process.execPath}" infra/admin/main.ts ${args}`
    const env = { ...process.env, ...operator.env }
    const child = spawn('script', ['-qec', command, '/dev/null'], { env })
    const shown = collectText(child.stdout)
    const ended = once(child, 'close')
    const otherwise = () => `no question:\n${shown()}`
    for (const [i, line] of lines.entries()) {
      await eventually(() => shown().split(/: /).length >= i + 2, { otherwise })
      // Raw mode is set right after the question. A person takes longer than a command without progress.
      await sleep(1_200)
      child.stdin.write(line)
    }
    const [code] = await ended
    return { code, shown: shown() }
  }

  it('asks for a new password twice, understands backspace and Ctrl-U, and shows no password', async () => {
    const { code, shown } = await typed(`oops\x15${NEW}x\x7f\r`, `${NEW}\r`)
    assert.equal(code, 0, shown)
    assert.match(shown, /New password for owner@acme\.example: \r?\n/)
    assert.match(shown, /Again: \r?\n/)
    assert.ok(!shown.includes(NEW))
    assert.equal(await indexOfPassword(NEW, [await stored()]), 0)
  })

  it('changes nothing when the second password differs', async () => {
    const { code, shown } = await typed(`${NEW}\r`, `${NEW}!\r`)
    assert.equal(code, 1)
    assert.match(shown, /The two passwords differ\. Nothing was changed\./)
    assert.equal(await indexOfPassword(PASSWORD, [await stored()]), 0)
  })

  it('revokes a service once yes is typed, and not before', async () => {
    const { serviceId } = (await operator.admin(['service', 'create', '--name', 'Boost', '--json'])).json
    const isRevoked = async () => (await operator.db('services').first()).revoked_at !== null
    const refused = await typedInto(`service revoke ${serviceId}`, 'no\r')
    assert.equal(refused.code, 1)
    assert.match(
      refused.shown,
      /^svc_\w+ \(Boost\) will be revoked permanently.*\r\nType yes to go on: no\r\nNothing was changed\.\r\n$/,
    )
    assert.equal(await isRevoked(), false)
    const { code, shown } = await typedInto(`service revoke ${serviceId}`, 'yes\r')
    assert.equal(code, 0, shown)
    assert.equal(await isRevoked(), true)
  })

  it('changes no password at Ctrl-C', async () => {
    const { code, shown } = await typed(CTRL_C)
    assert.equal(code, 1)
    assert.match(shown, /Cancelled\. Nothing was changed\./)
    assert.equal(await indexOfPassword(PASSWORD, [await stored()]), 0)
  })
})
