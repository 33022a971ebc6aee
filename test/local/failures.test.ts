import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { access, chown, mkdir, readdir, writeFile } from 'node:fs/promises'
import { networkInterfaces } from 'node:os'
import { join, resolve } from 'node:path'
import { PassThrough } from 'node:stream'
import { mock } from 'node:test'
import { ConfigError } from '#shared/process/config.ts'
import { insertCompany } from '../../apps/api/accounts/people.ts'
import { apiShape } from '../../apps/api/config.ts'
import { authShape } from '../../apps/auth/config.ts'
import { listSettings } from '../../infra/admin/setting-reference.ts'
import { startChild } from '../../infra/local/child.ts'
import { openDataDir } from '../../infra/local/data-dir.ts'
import { Lifecycle } from '../../infra/local/lifecycle.ts'
import { localSecrets } from '../../infra/local/secrets.ts'
import { localSettings } from '../../infra/local/settings.ts'
import { startLocalStack } from '../../infra/local/start.ts'
import { BUILD_FAILED, describeFailure, StartError } from '../../infra/local/start-error.ts'
import { LOCAL_SHAPE } from '../../infra/local-settings.ts'
import { afterwards } from '../support/block.ts'
import { stoppedTime } from '../support/clock.ts'
import { writeFiles } from '../support/files.ts'
import { sharedFolder } from '../support/folder.ts'
import { stackPorts, withTakenPort } from '../support/ports.ts'
import { recordedTexts } from '../support/recorded.ts'
import { createTestDatabase } from '../support/servers.ts'
import { findProcesses } from '../support/start.ts'
import { connectedDatabase } from '../support/stores.ts'

const ANOTHER_USER = 12_345

describe('what npm start passes on', () => {
  const own = { auth: listSettings(authShape), api: listSettings(apiShape) }
  const BY_THE_STACK = new Set(['HOST', 'METRICS_HOST', 'METRICS_PORT', 'TRUSTED_PROXIES'])
  const given = [...own.auth, ...own.api].filter(
    ({ name }) => !(name in LOCAL_SHAPE || BY_THE_STACK.has(name)),
  )
  const env = Object.fromEntries(given.map(({ name, secret }) => [secret ? `${name}_FILE` : name, 'x']))

  for (const service of ['auth', 'api'] as const)
    it(`is every setting of ${service}, and none of the other that is a secret or would be refused`, () => {
      const passed = localSettings(env).serviceEnv(service)
      const isOwn = ({ name }: { name: string }) => own[service].some((setting) => setting.name === name)
      for (const setting of given)
        if (isOwn(setting) || setting.secret || /^(?:OPENID|RATE)_/.test(setting.name))
          assert.equal(
            setting.name in passed || `${setting.name}_FILE` in passed,
            isOwn(setting),
            setting.name,
          )
    })
})

describe('the ports of npm start', () => {
  for (const [env, sentence] of [
    [{ PORT: '65535' }, 'AUTH_PORT is 65536, more than 65535: set AUTH_PORT or PORT to another port.'],
    [{ PORT: '80', AUTH_PORT: '80' }, 'AUTH_PORT is 80, as PORT is: set AUTH_PORT or PORT to another port.'],
    [{ AUTH_PORT: '8082' }, 'API_PORT is 8082, as AUTH_PORT is: set API_PORT or PORT to another port.'],
  ] as const)
    it(`are refused before anything is started: ${sentence}`, () =>
      assert.throws(() => localSettings(env), new ConfigError(sentence)))
})

describe('npm start that cannot', () => {
  const folder = sharedFolder()
  const { assertRecorded } = recordedTexts(new URL('failures.txt', import.meta.url), [
    [new RegExp(`${folder}/[\\w-]{36}`, 'g'), 'DATA_DIR'],
    [/(?<=^Port )\d+/g, 'PORT'],
    // Whoever runs it.
    [/EACCES|EPERM|EROFS/g, 'EACCES'],
  ])
  let dataDir: string
  let title: string
  beforeEach(function () {
    dataDir = join(folder, randomUUID())
    title = this.currentTest?.title ?? ''
  })

  /** Starts in this process. Expects one sentence, as it is written, and no store left running. */
  async function expectStartToFail(env: Record<string, string> = {}): Promise<void> {
    const lifecycle = new Lifecycle()
    const settings = localSettings({ DATA_DIR: dataDir, ...(await stackPorts()), ...env })
    const failure = await startLocalStack(lifecycle, {
      settings,
      show() {},
      output: new PassThrough().resume(),
    }).then(
      () => 'it started',
      (error: unknown) => describeFailure(error, dataDir),
    )
    await lifecycle.stop()
    assert.deepEqual(await findProcesses(dataDir), [])
    assert.doesNotMatch(failure, /\n|hunter2/)
    assertRecorded(title, failure)
  }

  for (const variable of ['PORT', 'AUTH_PORT', 'API_PORT', 'AUTH_METRICS_PORT', 'API_METRICS_PORT'])
    it(`names ${variable} when something holds that port`, () =>
      withTakenPort((port) => expectStartToFail({ [variable]: `${port}` })))

  // A machine without IPv6 has no such port.
  if (JSON.stringify(networkInterfaces()).includes('"::1"'))
    it('names PORT when something holds that port of IPv6', () =>
      withTakenPort((port) => expectStartToFail({ PORT: String(port) }), '::1'))

  it('names the folder, rather than the port, that another stack holds', () =>
    withTakenPort(async (port) => {
      const held = await openDataDir(dataDir)
      await expectStartToFail({ PORT: String(port) }).finally(held.release)
    }))

  it('puts no demo users into a database that others use, and leaves its roles alone', async () => {
    await using database = await createTestDatabase()
    await using db = connectedDatabase(database.ownerUrl)
    await insertCompany(db, { vendorId: 'ven_initech', name: 'Initech', timezone: 'UTC', currency: 'USD' })
    await expectStartToFail({ DATABASE_URL: database.ownerUrl })
    const { rows } = await db.raw('select count(*) as people from users')
    assert.equal(rows[0].people, 0)
    // The role's password is the one of before.
    await using api = connectedDatabase(database.apiUrl)
    await api.raw('select 1')
  })

  for (const [what, path] of [
    ['is a file', '.'],
    ['lies below a file', 'below'],
    // Not even root makes a folder there, nor a file in the other.
    ['cannot be written', '/sys/integration'],
    ['is there and cannot be written', '/proc/sys'],
  ] as const)
    it(`says that DATA_DIR ${what}`, async () => {
      await writeFile(dataDir, '')
      dataDir = resolve(dataDir, path)
      await expectStartToFail()
    })

  it('does not touch a folder that holds other things', async () => {
    await mkdir(dataDir)
    await writeFile(join(dataDir, 'thesis.txt'), 'years of work')
    await expectStartToFail()
    assert.deepEqual(await readdir(dataDir), ['thesis.txt'])
  })

  it('goes on where a first start was killed while it wrote its secrets', async () => {
    await mkdir(dataDir)
    await writeFile(join(dataDir, 'secrets.json.unfinished'), '{"half')
    const opened = await openDataDir(dataDir)
    opened.release()
    const secrets = JSON.stringify(await localSecrets(opened)).match(/(?<=:")[^"]+/g) ?? []
    assert.deepEqual(await readdir(dataDir), ['secrets.json'])
    assert.ok(new Set(secrets).size === 10 && secrets.every(({ length }) => length > 25))
  })

  it("does not touch another user's data", async () => {
    const isRoot = process.getuid?.() === 0
    if (!isRoot) title += ', as another user than root'
    if (!isRoot) dataDir = '/root/data'
    else {
      await mkdir(dataDir)
      await chown(dataDir, ANOTHER_USER, ANOTHER_USER)
    }
    await expectStartToFail()
  })

  it('says that its secrets were damaged, and leaves them', async () => {
    await mkdir(dataDir)
    await writeFile(join(dataDir, 'secrets.json'), '{"half')
    await expectStartToFail()
  })

  it('takes no other program for the Postgres of an earlier start, though it reads the same folder', async () => {
    await mkdir(join(dataDir, 'postgres'), { recursive: true })
    const pidFile = join(dataDir, 'postgres/postmaster.pid')
    await writeFile(pidFile, '')
    const other = startChild('tail', ['-f', pidFile])
    await using _ = afterwards(() => other.stop())
    await writeFile(pidFile, `${other.process.pid}\n`)
    const { release } = await openDataDir(dataDir)
    release()
    await assert.rejects(access(pidFile), /ENOENT/)
  })

  it('waits 5 s for the Postgres of an earlier start to end', async () => {
    const directory = join(dataDir, 'postgres')
    const earlier = startChild('tail', ['-f', '/dev/null', directory])
    await using _ = afterwards(() => earlier.stop())
    await writeFiles(directory, { 'postmaster.pid': `${earlier.process.pid}\n` })
    mock.timers.enable({ apis: ['Date'] })
    await using _clock = afterwards(() => mock.timers.reset())
    using time = stoppedTime()
    let ticks = 0
    const tick = () => {
      ticks++
      time.advance(1_001)
    }
    const ticking = setInterval(tick, 300)
    const shown: string[] = []
    const options = { settings: localSettings({ DATA_DIR: dataDir }), output: new PassThrough() }
    const starting = startLocalStack(new Lifecycle(), { ...options, show: (line) => shown.push(line) })
    const sentence = `A Postgres (process ${earlier.process.pid}) of an earlier stack still runs on DATA_DIR ${dataDir}: stop it.`
    await assert.rejects(starting, new StartError(sentence)).finally(() => clearInterval(ticking))
    assert.match(shown.join(), /^Opening DATA_DIR /)
    assert.ok(ticks >= 5 && ticks < 20, `${ticks}`)
  })

  it('says that another version of Postgres made the data', async () => {
    await mkdir(join(dataDir, 'postgres'), { recursive: true })
    await writeFile(join(dataDir, 'postgres/PG_VERSION'), '12\n')
    await expectStartToFail()
  })

  it('names the service that refuses its settings', () => expectStartToFail({ RATE_TOKEN_PER_CLIENT: 'x' }))

  it('does not touch a folder that has the name of its own and holds other things', async () => {
    const folder = join(dataDir, 'postgres')
    await mkdir(join(folder, 'pgdata'), { recursive: true })
    await expectStartToFail()
    assert.deepEqual(await readdir(folder), ['pgdata'])
  })

  for (const [what, query] of [
    ['leads nowhere', ''],
    ['lacks its certificate', '?sslmode=verify-full&sslrootcert=/none'],
  ] as const)
    it(`says that DATABASE_URL ${what}, without the password`, () =>
      expectStartToFail({ DATABASE_URL: `postgres://postgres:hunter2@127.0.0.1:1/postgres${query}` }))

  it('names a full disk wherever it shows', async () => {
    const expected = 'The disk that holds /d is full: make room, or set DATA_DIR to a folder on another disk.'
    for (const failure of [
      await writeFile('/dev/full', 'x').catch((error: unknown) => error),
      Object.assign(new Error('ENOSPC: write'), { code: 'ENOSPC' }),
      new Error('FATAL:  could not write to file "pg_wal/x": No space left on device'),
    ])
      assert.equal(describeFailure(failure, '/d'), expected)
    const build = new StartError(`${BUILD_FAILED}: ENOSPC: no space left on device`)
    assert.equal(describeFailure(build, '/d'), 'The disk that holds node_modules is full: make room.')
  })
})
