import assert from 'node:assert/strict'
import { readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { addPerson, createAcme, refused, runAdmin, sharedAdmin } from '../support/admin.ts'
import { sharedFolder } from '../support/folder.ts'

const NEW_PASSWORD = 'another, longer password'

describe('the trail of an operator', () => {
  const dataDir = sharedFolder()
  const operator = sharedAdmin({ withRedis: true, withAcme: true })
  let kim: string
  before(async () => {
    await createAcme(operator, 'ven_globex')
    await addPerson(operator, 'kim@acme.example', 'admin')
    ;[kim = ''] = await operator.db('users').orderBy('email').pluck('user_id')
    await operator.admin(['key', 'rotate'])
  })

  const parseLines = (text: string) => [...text.matchAll(/^\{.*/gm)].map(([line]) => JSON.parse(line))

  for (const name of ['', ' ', 'a'.repeat(101), 'two\nlines', '\u001b[2J'])
    it(`refuses ${JSON.stringify(name.slice(0, 12))} as a name`, () => {
      const sentence = /--as <name>[\s\S]* 1 to 100 printable characters/
      return refused(operator.admin(['--as', name, 'company', 'list']), sentence, 64)
    })

  it('ends with a person who belongs to no company', async () => {
    await operator.db('memberships').where({ user_id: kim }).delete()
    await operator.admin(['password', 'reset', 'kim@acme.example'], NEW_PASSWORD)
    const reset = { action: 'person.password_reset', subject: kim }
    const entries = await operator.db('activity').where(reset).select('vendor_id', 'detail')
    const detail = { name: 'Someone', email: 'kim@acme.example' }
    assert.deepEqual(entries, [{ vendor_id: null, detail }])
  })

  describe('when it cannot be written', () => {
    before(() => operator.db.raw('alter table activity add constraint no_room check (false) not valid'))
    after(() => operator.db.raw('alter table activity drop constraint no_room'))

    const snapshot = async () => {
      const { rows } = await operator.db.raw(
        `select (select jsonb_agg(u.password_hash order by user_id) from users u) as passwords,
           (select jsonb_agg(to_jsonb(k) order by kid) from signing_keys k) as keys,
           (select jsonb_agg(kid order by kid) from revoked_signing_keys) as revoked,
           (select jsonb_agg(to_jsonb(f)) from restore_fences f) as fences,
           (select confirmed_at from revocation_trust) as confirmed`,
      )
      return rows
    }
    for (const command of [
      'password reset owner@acme.example',
      'key rotate',
      'key reencrypt',
      'key revoke KID --yes',
      'restore fence --since 2026-01-31T09:00:00Z --yes',
      'restore confirm',
    ])
      it(`keeps ${command.split(' ', 2).join(' ')} from happening`, async () => {
        await operator.db.raw(`update signing_keys set created_at = created_at - interval '11 minutes'`)
        const [kid = ''] = await operator.db('signing_keys').where({ activates_at: null }).pluck('kid')
        const before = await snapshot()
        const keys = [9, 8, 7].map((byte) => Buffer.alloc(32, byte).toString('base64'))
        const env = { ...operator.env, KEY_ENCRYPTION_KEY: keys.join(',') }
        const args = command.replace('KID', kid).split(' ')
        const { stderr } = await refused(runAdmin(args, { env, input: NEW_PASSWORD }), /no_room/)
        assert.deepEqual(parseLines(stderr), [])
        assert.deepEqual(await snapshot(), before)
      })
  })

  it('continues the audit trail of the local stack', async () => {
    const running = {
      pid: process.pid,
      databaseUrl: operator.env.DATABASE_URL,
      ownerUrl: operator.database.ownerUrl,
      redisUrl: operator.env.REDIS_URL,
      keyEncryptionKey: operator.env.KEY_ENCRYPTION_KEY,
      auditFile: join(dataDir, 'audit.ndjson'),
    }
    await writeFile(join(dataDir, 'running.json'), JSON.stringify(running))
    const options = { env: { DATA_DIR: dataDir }, input: NEW_PASSWORD }
    const { code, stderr } = await runAdmin(['password', 'reset', 'owner@acme.example'], options)
    assert.deepEqual([code, stderr], [0, ''])
    const file = join(dataDir, 'audit.ndjson')
    assert.equal((await stat(file)).mode & 0o777, 0o600)
    const text = await readFile(file, 'utf8')
    const noted = parseLines(text).map(({ event, action, vendorId }) => `${event} ${action} ${vendorId}`)
    const reset = 'activity person.password_reset'
    assert.deepEqual(noted, [`${reset} ven_acme`, `${reset} ven_globex`])
    assert.ok(!text.includes(NEW_PASSWORD) && !text.includes('owner@acme.example'))
    const unwritable = { ...running, auditFile: dataDir }
    await writeFile(join(dataDir, 'running.json'), JSON.stringify(unwritable))
    const again = await runAdmin(['password', 'reset', 'owner@acme.example'], options)
    assert.equal(parseLines(again.stderr).length, 2)
  })
})
