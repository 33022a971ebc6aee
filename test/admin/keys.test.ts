import assert from 'node:assert/strict'
import { redisKeys } from '#shared/stores/redis-keys.ts'
import { refused, runAdmin, sharedAdmin, startAdmin, succeeded } from '../support/admin.ts'
import { connectedRedis } from '../support/redis.ts'

describe('admin keys list, rotate', () => {
  const operator = sharedAdmin()

  it('lists no keys before there is one', async () => {
    const { stdout } = await succeeded(operator.admin(['keys', 'list']))
    assert.equal(stdout, 'There are no keys yet.\n')
  })

  it('does not rotate to a standby key that verifiers may not have yet', async () => {
    const { code, stderr } = await operator.admin(['keys', 'rotate'])
    assert.equal(code, 1)
    assert.match(stderr, /^The standby key is too new to sign with: /)
    await operator.db.raw(`update signing_keys set created_at = created_at - interval '9 minutes'`)
    assert.equal((await operator.admin(['keys', 'rotate'])).code, 1)
    const { json: keys } = await operator.admin(['keys', 'list', '--json'])
    assert.deepEqual(
      keys.map(({ state }: { state: string }) => state),
      ['active', 'standby'],
    )
    assert.doesNotMatch(JSON.stringify(keys), /private|"d"/)
  })

  it('has the standby key sign at once, and makes another, of the requested algorithm', async () => {
    await operator.admin(['keys', 'rotate'])
    await operator.db.raw(`update signing_keys set created_at = created_at - interval '11 minutes'`)
    const before = (await operator.admin(['keys', 'list', '--json'])).json
    const { json } = await succeeded(operator.admin(['keys', 'rotate', '--alg', 'RS256', '--json']))
    assert.equal(json.active.kid, before[1].kid)
    assert.equal(json.active.alg, 'ES256')
    assert.ok(Date.parse(json.active.activatesAt) <= Date.now())
    assert.equal(json.standby.alg, 'RS256')
    assert.equal(json.standby.activatesAt, null)
  })

  it('refuses to make a key that the services could not open', async () => {
    await refused(
      runAdmin(['keys', 'rotate'], {
        env: { ...operator.env, KEY_ENCRYPTION_KEY: Buffer.alloc(32, 8).toString('base64') },
      }),
      /cannot be decrypted\. Check that KEY_ENCRYPTION_KEY is the one/,
    )
  })
})

describe('admin keys revoke, while no service runs', () => {
  it('writes to Redis before it ends, and has another key sign only in place of the active one', async () => {
    await using operator = await startAdmin({ withRedis: true })
    using redis = await connectedRedis(operator.env.REDIS_URL as string)
    const states = async () => {
      const { json } = await operator.admin(['keys', 'list', '--json'])
      return json.map(({ kid, state }: Record<string, string>) => [kid, state])
    }
    await operator.admin(['keys', 'rotate'])
    await operator.db.raw(`update signing_keys set created_at = created_at - interval '11 minutes'`)
    const { json } = await operator.admin(['keys', 'rotate', '--json'])
    const [active, standby] = [json.active.kid, json.standby.kid]
    const retired = (await states()).find(([kid]: string[]) => kid !== active && kid !== standby)[0]
    assert.equal((await operator.admin(['keys', 'revoke', retired, '--yes'])).code, 0)
    assert.equal(await redis.exists(redisKeys.revoked('key', retired)), 1)
    const left = (await states()).filter(([kid]: string[]) => kid !== retired)
    assert.deepEqual(
      left.sort(),
      [
        [active, 'active'],
        [standby, 'standby'],
      ].sort(),
    )
    assert.equal((await operator.admin(['keys', 'revoke', active, '--yes'])).code, 0)
    assert.deepEqual((await states()).find(([kid]: string[]) => kid === standby)[1], 'active')
  })

  it('refuses an unknown key, and records nothing', async () => {
    await using operator = await startAdmin({ withRedis: true })
    await refused(operator.admin(['keys', 'revoke', 'none', '--yes']), 'There is no key none.\n')
    assert.deepEqual(await operator.db('activity').where({ action: 'signing_key.revoked' }), [])
  })
})
