import assert from 'node:assert/strict'
import { insertRevokedSigningKey } from '#shared/revocation/recent.ts'
import { createPostgres, type Database } from '#shared/stores/postgres.ts'
import type { Redis } from '#shared/stores/redis.ts'
import { redisKeys } from '#shared/stores/redis-keys.ts'
import { provenByRedis, revokeAgain } from '../../infra/admin/restore.ts'
import { testOperator } from '../support/operator.ts'
import { connectedRedis } from '../support/redis.ts'
import { createSubjects } from '../support/revocation.ts'
import { createTestDatabase, createTestRedis, type TestDatabase, type TestRedis } from '../support/servers.ts'

describe('what Redis proves after a restore', () => {
  let database: TestDatabase
  let server: TestRedis
  let db: Database
  let redis: Redis
  before(async () => {
    ;[database, server] = await Promise.all([createTestDatabase(), createTestRedis()])
    db = createPostgres({ url: database.ownerUrl, poolSize: 1, applicationName: 'test' })
    redis = await connectedRedis(server.url('admin'))
  })
  after(async () => {
    redis.disconnect()
    await Promise.all([db.destroy(), server.stop('SIGKILL')])
    await database.drop()
  })

  it('revokes again what Redis names as the newest revocation, though its entry has expired', async () => {
    await redis.set(redisKeys.revocationSeen, '1000 7/16384/16500 cli_newest')
    await redis.set(redisKeys.revoked('token', 'jti_lost'), '1')
    const { clients, keys, tokens } = await provenByRedis(db, redis)
    assert.deepEqual([clients, keys, tokens], [['cli_newest'], ['cli_newest'], ['jti_lost']])
  })

  it('reports a signing key as revoked again only if its revocation was lost', async () => {
    const { newKey } = await createSubjects(db)
    const [known, lost] = [await newKey(), await newKey()]
    await insertRevokedSigningKey(db, known)
    const proven = { clients: [], keys: [known, lost], tokens: [] }
    const { keys } = await revokeAgain(db, [proven], { now_ms: Date.now(), by: testOperator() })
    assert.deepEqual(keys, [lost])
  })
})
