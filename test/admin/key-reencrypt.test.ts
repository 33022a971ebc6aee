import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { decryptSigningKey, ensureSigningKeys, listSigningKeys } from '#shared/oauth/signing-keys.ts'
import { systemClock } from '#shared/process/clock.ts'
import { runAdmin, sharedAdmin, succeeded } from '../support/admin.ts'

describe('npm run admin -- key reencrypt', () => {
  const operator = sharedAdmin()
  const old = randomBytes(32)
  const next = randomBytes(32)
  before(() => ensureSigningKeys(operator.db, { alg: 'ES256', encryptionKey: [old], clock: systemClock }))

  const reencrypt = (...keys: Buffer[]) =>
    runAdmin(['key', 'reencrypt', '--json'], {
      env: { ...operator.env, KEY_ENCRYPTION_KEY: keys.map((key) => key.toString('base64')).join(',') },
    })

  it('says which keys it cannot open, and leaves them', async () => {
    const { code, json } = await reencrypt(next, randomBytes(32))
    assert.equal(code, 1)
    const keys = await listSigningKeys(operator.db)
    assert.deepEqual(json, { rewritten: [], unreadable: keys.map(({ kid }) => kid) })
    for (const key of keys) assert.ok(decryptSigningKey(key, [old]))
  })

  it('encrypts with the first key what the others open: afterwards the first is enough', async () => {
    const before = await listSigningKeys(operator.db)
    const { json } = await succeeded(reencrypt(next, old))
    const kids = before.map(({ kid }) => kid)
    assert.deepEqual(json, { rewritten: kids, unreadable: [] })
    const recorded = operator.db('activity').where({ action: 'signing_key.reencrypted' })
    assert.deepEqual((await recorded.pluck('subject')).sort(), kids.sort())
    for (const key of await listSigningKeys(operator.db)) {
      const { publicJwk } = decryptSigningKey(key, [next]) ?? assert.fail('it does not open')
      assert.equal(publicJwk.kid, key.kid)
      assert.equal(decryptSigningKey(key, [old]), undefined)
      assert.ok(decryptSigningKey(key, [randomBytes(32), next]))
    }
    assert.deepEqual((await succeeded(reencrypt(next, old))).json, { rewritten: [], unreadable: [] })
  })
})
