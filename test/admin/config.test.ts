import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { operatorStores, ownerDatabaseUrl } from '../../infra/admin/operator.ts'
import { runAdmin, succeeded } from '../support/admin.ts'
import { sharedFolder } from '../support/folder.ts'
import { read } from '../support/project.ts'

const USABLE = {
  DATABASE_URL: 'postgres://integration_auth:hunter2@127.0.0.1/integration',
  REDIS_URL: 'redis://auth:hunter3@127.0.0.1',
  ISSUER: 'https://auth.example.com',
  API_RESOURCE: 'https://api.example.com',
  KEY_ENCRYPTION_KEY: Buffer.alloc(32, 1).toString('base64'),
}

describe('the stores of an operator', () => {
  const DATA_DIR = sharedFolder()

  it('puts the server for revocations before the other one, and works below the owner beside a local stack', async () => {
    const own = { REVOCATION_REDIS_URL: 'redis://revocations', RATE_REDIS_URL: 'redis://rates' }
    const urls = { DATABASE_URL: USABLE.DATABASE_URL, REDIS_URL: 'redis://x', ...own }
    const given = await operatorStores(urls)
    const { RATE_REDIS_URL: _, ...without } = urls
    assert.equal((await operatorStores(without)).usageRedisUrl, 'redis://x')
    const postgres = { databaseUrl: USABLE.DATABASE_URL, ownerUrl: 'postgres://owner@x/y' }
    const running = {
      pid: process.pid,
      ...postgres,
      redisUrl: 'redis://x',
      auditFile: join(DATA_DIR, 'audit.ndjson'),
    }
    const keyEncryptionKey = USABLE.KEY_ENCRYPTION_KEY
    await writeFile(join(DATA_DIR, 'running.json'), JSON.stringify({ ...running, keyEncryptionKey }))
    const local = await operatorStores({ DATA_DIR, ...own })
    const alone = await operatorStores({ DATA_DIR })
    // Only a migration works as the owner.
    const found = { databaseUrl: alone.databaseUrl, ownerUrl: await ownerDatabaseUrl({ DATA_DIR }) }
    assert.deepEqual(found, postgres)
    const used = [given, local, alone].map(({ redisUrl, usageRedisUrl }) => `${redisUrl} ${usageRedisUrl}`)
    const apart = 'redis://revocations redis://rates'
    assert.deepEqual(used, [apart, apart, 'redis://x redis://x'])
  })
})

describe('npm run admin', () => {
  it('prints infra/SETTINGS.md as the reference', async () => {
    const { stdout } = await succeeded(runAdmin(['config', 'reference'], { env: {} }))
    const page = read('infra/SETTINGS.md')
    assert.equal(page, stdout, 'npm run --silent admin -- config reference > infra/SETTINGS.md')
  })

  it('is given the hashes of passwords by the command of the runbook', async () => {
    const page = read('infra/runbook/install.md')
    const [, command = ''] = /Replace each `PASSWORD_…` with the output of `(.+?)`/.exec(page) ?? []
    const hash = execFileSync('sh', ['-c', command], { env: { ...process.env, PASSWORD: 'a %s' } })
    assert.equal(hash.toString(), `${createHash('sha256').update('a %s').digest('hex')}\n`)
  })
})
