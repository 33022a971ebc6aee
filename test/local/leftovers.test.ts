import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { openDataDir } from '../../infra/local/data-dir.ts'
import { freePort } from '../../infra/local/ports.ts'
import { startPostgres } from '../../infra/local/postgres.ts'
import { startRedis } from '../../infra/local/redis.ts'
import { localSecrets } from '../../infra/local/secrets.ts'
import { removeFolder, startProcess, temporaryFolder } from '../support/start.ts'

describe('npm start after an end without a stop', function () {
  this.timeout(60_000)
  let dataDir: string
  beforeEach(async () => {
    dataDir = await temporaryFolder()
  })
  afterEach(() => removeFolder(dataDir))

  it('stops the Postgres and the Redis that run on its data still, and nothing else', async () => {
    const folder = await openDataDir(dataDir)
    const secrets = await localSecrets(folder)
    const postgres = await startPostgres({
      directory: folder.at('postgres'),
      port: await freePort(),
      password: secrets.postgres.postgres,
    })
    const redis = await startRedis({
      directory: folder.at('redis'),
      port: await freePort(),
      passwords: secrets.redis,
    })
    const elsewhere = await temporaryFolder()
    const stranger = await startRedis({
      directory: elsewhere,
      port: await freePort(),
      passwords: secrets.redis,
    })
    folder.release()

    const start = await startProcess({ dataDir })
    await start.ready()
    assert.match(start.stdout(), /Postgres: stopped the one that an earlier stack left behind/)
    assert.match(start.stdout(), /Redis: stopped the one that an earlier stack left behind/)
    await Promise.all([postgres.ended, redis.ended])
    const end = await Promise.race([stranger.ended, Promise.resolve('runs')])
    assert.equal(end, 'runs')
    assert.equal(await start.stop(), 0)
    await stranger.stop('SIGKILL')
    await removeFolder(elsewhere)
  })

  it('is not stopped by a number that another program has by now', async () => {
    const folder = await openDataDir(dataDir)
    const { postgres } = await localSecrets(folder)
    const first = await startPostgres({
      directory: folder.at('postgres'),
      port: await freePort(),
      password: postgres.postgres,
    })
    await first.stop()
    folder.release()
    const bystander: ChildProcess = spawn('sleep', ['60'])
    const pidFile = join(dataDir, 'postgres/postmaster.pid')
    await writeFile(pidFile, `${bystander.pid}\n${join(dataDir, 'postgres')}\n1\n1\n\n127.0.0.1\n`)
    const start = await startProcess({ dataDir })
    await start.ready()
    assert.equal(await start.stop(), 0)
    assert.equal(bystander.exitCode ?? bystander.signalCode, null)
    bystander.kill()
  })

  it('starts over when the very first start was cut short', async () => {
    await mkdir(join(dataDir, 'postgres.unfinished/base'), { recursive: true })
    await writeFile(join(dataDir, 'lock'), '')
    await writeFile(join(dataDir, 'postgres.unfinished/PG_VERSION'), '18\n')
    const start = await startProcess({ dataDir })
    await start.ready()
    assert.equal(await start.stop(), 0)
    assert.equal((await readFile(join(dataDir, 'postgres/PG_VERSION'), 'utf8')).trim(), '18')
  })
})
