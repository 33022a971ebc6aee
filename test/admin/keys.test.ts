import assert from 'node:assert/strict'
import { mock } from 'node:test'
import { redisKeys } from '#shared/stores/redis-keys.ts'
import { refused, runAdmin, sharedAdmin, succeeded } from '../support/admin.ts'
import { afterwards } from '../support/block.ts'
import { connectedRedis } from '../support/redis.ts'

/** Sets the clock of the operator's machine an hour ahead, until the end of the block. */
const aheadByAnHour = () => {
  const now = () => performance.timeOrigin + performance.now() + 3_600_000
  const { mock: clock } = mock.method(Date, 'now', now)
  return afterwards(() => clock.restore())
}

describe('admin keys list, rotate', () => {
  const operator = sharedAdmin()

  it('does not rotate to a standby key that verifiers may not have yet', async () => {
    const tooNew = /^The standby key is too new to sign with: /
    await refused(operator.admin(['keys', 'rotate']), tooNew)
    await operator.db.raw(`update signing_keys set created_at = clock_timestamp() - interval '590 s'`)
    await using _ = aheadByAnHour()
    const { stderr } = await refused(operator.admin(['keys', 'rotate']), tooNew)
    const { json: keys, stdout } = await operator.admin(['keys', 'list', '--json'])
    assert.deepEqual([keys.length, keys[0].state, keys[1].state], [2, 'active', 'standby'])
    assert.doesNotMatch(stdout, /private|"d"/)
    const [, after = ''] = /Rotate after (.{16}Z)\./.exec(stderr) ?? []
    assert.ok(Date.parse(after) >= Date.parse(keys[1].createdAt) + 600_000, after)
  })

  it('says from when the new key signs, if a clock that was ahead activated the last one', async () => {
    const ahead = `created_at = 'epoch', activates_at = activates_at + interval '90 s'`
    await operator.db.raw(`update signing_keys set ${ahead}`)
    const { stdout } = await succeeded(operator.admin(['keys', 'rotate']))
    assert.match(stdout, /^\S+ signs from \S+ \S+Z; \S+ is the standby key\.$/m)
    assert.match((await operator.admin(['keys', 'list'])).stdout, /active .*\n.* standby .*\n.* standby /)
  })

  it('refuses to make a key that the services could not open', () => {
    const env = { ...operator.env, KEY_ENCRYPTION_KEY: Buffer.alloc(32, 8).toString('base64') }
    const sentence = /cannot be decrypted\. Check that KEY_ENCRYPTION_KEY is the one/
    return refused(runAdmin(['keys', 'rotate'], { env }), sentence)
  })
})

describe('admin keys revoke, while no service runs', () => {
  const operator = sharedAdmin({ withRedis: true })

  it('writes to Redis before it ends, and has another key sign at once, but only in place of the active one', async () => {
    using redis = await connectedRedis(operator.env.REDIS_URL as string)
    const states = async (): Promise<Record<string, string>> => {
      const { json } = await operator.admin(['keys', 'list', '--json'])
      return Object.fromEntries(json.map(({ kid, state }: Record<string, string>) => [kid, state]))
    }
    await operator.admin(['keys', 'rotate', '--alg', 'RS256'])
    await operator.db.raw(`update signing_keys set created_at = created_at - interval '11 minutes'`)
    const { json } = await operator.admin(['keys', 'rotate', '--json'])
    assert.deepEqual([json.active.alg, json.standby.alg], ['RS256', 'RS256'])
    const [active, standby] = [json.active.kid, json.standby.kid]
    const [retired = ''] = Object.keys(await states()).filter((kid) => kid !== active && kid !== standby)
    await succeeded(operator.admin(['keys', 'revoke', retired, '--yes']))
    assert.equal(await redis.exists(redisKeys.revoked('key', retired)), 1)
    const { [retired]: _, ...left } = await states()
    assert.deepEqual(left, { [active]: 'active', [standby]: 'standby' })
    {
      await using _ = aheadByAnHour()
      await succeeded(operator.admin(['keys', 'revoke', active, '--yes']))
    }
    assert.equal((await states())[standby], 'active')
    const { rows } = await operator.db.raw('select from signing_keys where activates_at > clock_timestamp()')
    assert.deepEqual(rows, [])
  })
})
