import assert from 'node:assert/strict'
import { chown, mkdir, readdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { insertCompany } from '#shared/accounts/people.ts'
import { createPostgres } from '#shared/stores/postgres.ts'
import { onPath } from '../../infra/local/child.ts'
import { openDataDir } from '../../infra/local/data-dir.ts'
import { sentence } from '../../infra/local/failure.ts'
import { Parts } from '../../infra/local/parts.ts'
import { localSettings } from '../../infra/local/settings.ts'
import { startLocalStack } from '../../infra/local/stack.ts'
import { freePorts, withTakenPort } from '../support/ports.ts'
import { createEmptyDatabase, createTestDatabase } from '../support/servers.ts'
import { processesOf, removeFolder, startProcess, temporaryFolder } from '../support/start.ts'

const ANOTHER_USER = 12_345

describe('npm start that cannot', function () {
  this.timeout(60_000)
  let folder: string
  let dataDir: string
  beforeEach(async () => {
    folder = await temporaryFolder()
    dataDir = join(folder, 'data')
  })
  afterEach(() => removeFolder(folder))

  /** Expects this text and no more, a code that is not 0, and nothing left running. */
  async function expectProcessToFail(
    expected: RegExp,
    { env = {}, code = 1, args = [] }: { env?: Record<string, string>; code?: number; args?: string[] } = {},
  ): Promise<void> {
    const start = await startProcess({ dataDir, env, args })
    assert.equal(await start.ended(), code, start.stderr())
    const text = start.stderr().trim()
    assert.match(text, expected)
    assert.doesNotMatch(text, /\n\s+at |node:internal|hunter2/)
    assert.doesNotMatch(start.stdout(), /^ready/m)
    assert.deepEqual(await start.running(), [])
  }

  /** As expectProcessToFail, but in this process: expects one sentence, and no store left running. */
  async function expectStartToFail(expected: RegExp, env: Record<string, string> = {}): Promise<void> {
    const parts = new Parts()
    const settings = localSettings({ DATA_DIR: dataDir, ...(await portsOf()), ...env })
    const failure = await startLocalStack(parts, { settings, say() {}, output: process.stderr }).then(
      () => 'it started',
      (error: unknown) => sentence(error, dataDir),
    )
    await parts.stop()
    assert.deepEqual(await processesOf(dataDir), [])
    assert.match(failure, expected)
    assert.doesNotMatch(failure, /\n|hunter2/)
  }

  it('names the port that something else holds, in one sentence', async () => {
    await withTakenPort((port) =>
      expectProcessToFail(
        new RegExp(`^Port ${port} is in use: stop the program that uses it, or set PORT to another port\\.$`),
        {
          env: { PORT: String(port) },
        },
      ),
    )
  })

  for (const variable of ['AUTH_PORT', 'API_PORT', 'AUTH_METRICS_PORT', 'API_METRICS_PORT']) {
    it(`names ${variable} when something holds that port`, () =>
      withTakenPort((port) =>
        expectStartToFail(
          new RegExp(
            `^Port ${port} is in use: stop the program that uses it, or set ${variable} to another port\\.$`,
          ),
          { [variable]: String(port) },
        ),
      ))
  }

  it('names every variable that is wrong, without its value', async () => {
    const env = { PORT: 'eighty', DATABASE_URL: 'mysql://hunter2', KEY_ENCRYPTION_KEY: 'hunter2' }
    await expectProcessToFail(
      /PORT: must be a whole number[\s\S]*DATABASE_URL: must be a URL[\s\S]*KEY_ENCRYPTION_KEY: /,
      { env, code: 78 },
    )
  })

  it('refuses one port for two, and ports beyond the last', () => {
    assert.throws(() => localSettings({ PORT: '18999', AUTH_PORT: '18999' }), /must be different ports/)
    assert.throws(() => localSettings({ PORT: '65535' }), /PORT: must leave room/)
  })

  it('refuses to be production', async () => {
    await expectProcessToFail(/^NODE_ENV is production, but npm start runs a demo/, {
      env: { NODE_ENV: 'production' },
      code: 78,
    })
  })

  it('puts no demo users into a database that others use, and leaves its roles alone', async () => {
    const database = await createTestDatabase()
    const db = createPostgres({ url: database.ownerUrl, poolSize: 1, applicationName: 'test' })
    await insertCompany(db, { vendorId: 'ven_initech', name: 'Initech', timezone: 'UTC', currency: 'USD' })
    await expectStartToFail(
      /^The database of DATABASE_URL already has companies, none of them from the demo\. /,
      { DATABASE_URL: database.ownerUrl },
    )
    const { rows } = await db.raw('select count(*) as people from users')
    assert.equal(rows[0].people, 0)
    await db.destroy()
    // The role's password is the one of before.
    const api = createPostgres({ url: database.apiUrl, poolSize: 1, applicationName: 'test' })
    await api.raw('select 1')
    await api.destroy()
    await database.drop()
  })

  it('refuses an option that it does not have', async () => {
    await expectProcessToFail(/Unknown option '--fresh'/, { args: ['--fresh'], code: 64 })
  })

  it('says that DATA_DIR is a file', async () => {
    await writeFile(dataDir, '')
    await expectStartToFail(/^DATA_DIR .* is a file: set it to a writable folder\.$/)
  })

  it('says that DATA_DIR lies below a file', async () => {
    await writeFile(dataDir, '')
    dataDir = join(dataDir, 'below')
    await expectStartToFail(/^DATA_DIR .* is a file, or lies below one: /)
  })

  it('says that DATA_DIR cannot be written', async () => {
    // Not even root makes a folder there.
    dataDir = '/sys/integration'
    await expectStartToFail(/^DATA_DIR \/sys\/integration may not be written by this user: /)
  })

  it('does not touch a folder that holds other things', async () => {
    await mkdir(dataDir)
    await writeFile(join(dataDir, 'thesis.txt'), 'years of work')
    await expectStartToFail(/^DATA_DIR .* contains other files: set it to a new or empty folder\.$/)
    assert.deepEqual(await readdir(dataDir), ['thesis.txt'])
  })

  it("does not touch another user's data", async () => {
    if (process.getuid?.() === 0) {
      await mkdir(dataDir)
      await writeFile(join(dataDir, 'lock'), '')
      await chown(join(dataDir, 'lock'), ANOTHER_USER, ANOTHER_USER)
      await expectStartToFail(/^DATA_DIR .* belongs to another user \(uid 12345\): start as that user/)
    } else {
      dataDir = '/root/data'
      await expectStartToFail(/^DATA_DIR \/root\/data may not be written by this user: /)
    }
  })

  it('says that its secrets were damaged, and leaves them', async () => {
    await mkdir(dataDir)
    await writeFile(join(dataDir, 'lock'), '')
    await writeFile(join(dataDir, 'secrets.json'), '{"half')
    await expectStartToFail(/secrets\.json cannot be read, and the data beside it is useless without it/)
  })

  it('says that another version of Postgres made the data', async () => {
    await mkdir(join(dataDir, 'postgres'), { recursive: true })
    await writeFile(join(dataDir, 'lock'), '')
    await writeFile(join(dataDir, 'postgres/PG_VERSION'), '12\n')
    await expectStartToFail(
      /^The data in .* was made by Postgres 12, which Postgres 18 cannot read: set DATA_DIR/,
    )
  })

  it('says that DATABASE_URL leads nowhere, without the password', async () => {
    await expectStartToFail(
      /^The Postgres of DATABASE_URL cannot be used: connect ECONNREFUSED 127\.0\.0\.1:1\.$/,
      { DATABASE_URL: 'postgres://postgres:hunter2@127.0.0.1:1/postgres' },
    )
  })

  it('says that REDIS_URL leads nowhere, and stops its Postgres', async () => {
    await expectProcessToFail(/^The Redis of REDIS_URL cannot be used: Redis did not become ready\.$/, {
      env: { REDIS_URL: 'redis://127.0.0.1:1' },
    })
  })

  it('says what to do when there is no Redis and no way to get one', async () => {
    const bin = join(folder, 'bin')
    await mkdir(bin)
    // All that a start needs but apt and Redis; `node` as it would be found by npm.
    for (const name of ['setpriv', 'sh']) {
      const path = await onPath(name)
      if (path) await symlink(path, join(bin, name))
    }
    // One that is too old is as good as none.
    await writeFile(join(bin, 'redis-server'), '#!/bin/sh\necho "Redis server v=6.0.16 sha=0 bits=64"\n', {
      mode: 0o755,
    })
    const database = await createEmptyDatabase()
    await expectProcessToFail(
      /^No Redis server of version 7 or newer was found on the PATH, and none could be fetched \(this machine has no apt\): install redis-server or valkey-server, or set REDIS_URL to a server that runs\.$/,
      { env: { PATH: bin, XDG_CACHE_HOME: join(folder, 'cache'), DATABASE_URL: database.ownerUrl } },
    )
    await database.drop()
  })

  it('says how much room is missing on the disk', async () => {
    await assert.rejects(openDataDir(dataDir, { roomNeeded_MiB: 10 ** 9 }), (error: Error) => {
      assert.match(
        error.message,
        /^The disk that holds DATA_DIR .* is full: \d+ MiB are free, but 1000000000 MiB are needed: make room, or set DATA_DIR to a folder on another disk\.$/,
      )
      return true
    })
    // The folder is free again: nobody holds its lock.
    ;(await openDataDir(dataDir)).release()
  })

  it('names a full disk wherever it shows', async () => {
    const full = await writeFile('/dev/full', 'x').catch((error: unknown) => error)
    const expected =
      /^The disk that holds \/d is full: make room, or set DATA_DIR to a folder on another disk\.$/
    assert.match(sentence(full, '/d'), expected)
    const ofPostgres = new Error('FATAL:  could not write to file "pg_wal/x": No space left on device')
    assert.match(sentence(ofPostgres, '/d'), expected)
  })
})

async function portsOf(): Promise<Record<string, string>> {
  const names = ['PORT', 'AUTH_PORT', 'API_PORT', 'AUTH_METRICS_PORT', 'API_METRICS_PORT']
  const ports = await freePorts(names.length)
  return Object.fromEntries(names.map((name, i) => [name, String(ports[i])]))
}
