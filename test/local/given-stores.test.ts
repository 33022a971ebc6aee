import assert from 'node:assert/strict'
import { join } from 'node:path'
import { freePort } from '../../infra/local/ports.ts'
import { type LocalPostgres, startPostgres } from '../../infra/local/postgres.ts'
import { type LocalRedis, startRedis } from '../../infra/local/redis.ts'
import { startTestStack } from '../support/stack.ts'
import { removeFolder, temporaryFolder } from '../support/start.ts'

describe('npm start with DATABASE_URL and REDIS_URL', function () {
  this.timeout(60_000)
  let folder: string
  let postgres: LocalPostgres
  let redis: LocalRedis
  before(async () => {
    folder = await temporaryFolder()
    postgres = await startPostgres({
      directory: join(folder, 'postgres'),
      port: await freePort(),
      password: 'p@ss:word/?#',
      settings: { fsync: 'off' },
    })
    redis = await startRedis({
      directory: join(folder, 'redis'),
      port: await freePort(),
      passwords: { admin: 'a', auth: 'b', api: 'c' },
    })
  })
  after(async () => {
    await Promise.all([postgres.stop(), redis.stop('SIGKILL')])
    await removeFolder(folder)
  })

  it('uses these servers and leaves them running when it stops', async () => {
    const env = {
      DATABASE_URL: postgres.url('postgres'),
      REDIS_URL: redis.url('api'),
      // The keys in the database outlive the data folder of the first stack, and so must what opens them.
      KEY_ENCRYPTION_KEY: Buffer.alloc(32, 3).toString('base64'),
    }
    for (const time of ['first', 'second']) {
      const stack = await startTestStack({ env })
      try {
        const { clientId, clientSecret, vendorId } = stack.demoClient
        const token = await fetch(`${stack.baseUrl}/v1/oauth/token`, {
          method: 'POST',
          body: new URLSearchParams({
            grant_type: 'client_credentials',
            client_id: clientId,
            client_secret: clientSecret,
            scope: 'analytics:read',
          }),
        })
        assert.equal(token.status, 200, time)
        assert.equal(vendorId, 'ven_acme')
        assert.equal(stack.stores.postgres.ended, undefined)
      } finally {
        await stack.remove()
      }
      const running = await Promise.race([postgres.ended, redis.ended, Promise.resolve('running')])
      assert.equal(running, 'running')
    }
  })
})
