import assert from 'node:assert/strict'
import { onPath } from '../../infra/local/child.ts'
import { writeFiles } from '../support/files.ts'
import { sharedFolder } from '../support/folder.ts'
import { run } from '../support/program.ts'
import { restoreScript } from '../trials/cures/documents.ts'

const TIME = '2026-01-31T10:00:00.000Z'
const KID = '-XplXBz1hAxFsIiGnJIRHvmy_zMbb6cNFkTs2uUjPDo'
const activity = (action: string, subject: unknown, vendorId: unknown = 'ven_acme') => ({
  time: TIME,
  event: 'activity',
  vendorId,
  operator: 'alice',
  action,
  subject,
  detail: {},
})

/** Values that a shell, or a reader of the printed lines, would take for more than an id. */
const HOSTILE = [
  ...['"; rm -rf ~; "', 'usr_a\ncompany erase ven_acme --yes', 'cli_a\n', '--yes'],
  ...[`ven_${'a'.repeat(61)}`, `${KID}\n`, `${KID}a`, '', null, ['ven_acme']],
]

describe("the runbook's script that prints what to repeat after a restore", () => {
  const folder = sharedFolder()
  before(async () => {
    assert.ok(await onPath('jq'), 'The script of the runbook needs jq: apt-get install jq')
  })

  const print = async (lines: unknown[]) => {
    const text = lines.map((line) => `${typeof line === 'string' ? line : JSON.stringify(line)}\n`).join('')
    await writeFiles(folder, { 'api.log': text, 'auth.log': '', 'admin.log': '' })
    const { stdout } = await run('sh', ['-c', restoreScript()], { cwd: folder })
    return stdout.split('\n').slice(0, -1)
  }

  it('prints a command for each revocation and erasure since the backup', async () => {
    const lines = await print([
      { time: TIME, event: 'signing_key.revoked', kid: KID },
      activity('client.revoked', 'cli_1'),
      activity('service.revoked', 'svc_1', null),
      activity('company.erased', 'ven_acme'),
      activity('person.erased', 'usr_1', null),
      { ...activity('client.revoked', 'cli_old'), time: '2026-01-31T08:59:59.999Z' },
      { time: TIME, event: 'token.issued', clientId: 'cli_1' },
      'no JSON',
    ])
    assert.deepEqual(lines.toSorted(), [
      'client revoke ven_acme cli_1 --yes',
      'company erase ven_acme --yes',
      `key revoke --yes -- ${KID}`,
      'person erase usr_1 --yes',
      'service revoke svc_1 --yes',
    ])
  })

  it('prints everything else as a comment', async () => {
    const lines = await print([
      { time: TIME, event: 'token.revoked', clientId: 'cli_1', jti: 'x' },
      activity('member.role_changed', 'usr_1'),
    ])
    assert.deepEqual(lines.toSorted(), [
      `# ["${TIME}","activity","ven_acme","alice","member.role_changed","usr_1",{}]`,
      `# ["${TIME}","token.revoked","cli_1","x"]`,
    ])
  })

  for (const value of HOSTILE)
    it(`makes no command of ${JSON.stringify(value)}`, async () => {
      const hostile = [
        { time: TIME, event: 'signing_key.revoked', kid: value },
        { time: TIME, event: 'client.revoked', clientId: value },
        { time: TIME, event: 'token.revoked', clientId: value, jti: value },
        { ...activity('member.role_changed', value, value), operator: value, detail: { value } },
        activity('client.revoked', value),
        activity('client.revoked', 'cli_1', value),
        ...['service.revoked', 'company.erased', 'person.erased'].map((action) => activity(action, value)),
        { time: `${TIME}${value}`, event: 'token.revoked' },
      ]
      const lines = await print(hostile)
      assert.equal(lines.length, hostile.length)
      for (const line of lines) assert.match(line, /^# \[".*\]$/)
    })
})
