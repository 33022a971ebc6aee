import assert from 'node:assert/strict'
import { chmod, readdir, readFile, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { shellWithCurl } from '../support/curl.ts'
import { removeFolder, type Start, startProcess, temporaryFolder } from '../support/start.ts'

const curlPair = (output: string): string =>
  output
    .split('\n')
    .filter((line) => line.includes('curl -sS'))
    .join('\n')

async function signIn(baseUrl: string, email: string, password: string) {
  const response = await fetch(`${baseUrl}/v1/session`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ email, password }),
  })
  return { status: response.status, body: await response.json() }
}

describe('npm start', function () {
  this.timeout(90_000)
  let dataDir: string
  let start: Start

  before(async () => {
    // A quote, a space and a name that is not ASCII: all that a home folder may have in its path.
    const folder = await temporaryFolder()
    await chmod(folder, 0o711)
    dataDir = join(folder, `Zoë's data`)
  })
  after(async () => {
    if (start.process.exitCode === null && start.process.signalCode === null) await start.stop()
    await removeFolder(join(dataDir, '..'))
  })

  describe('the first time', () => {
    before(async () => {
      start = await startProcess({ dataDir, command: ['npm', 'start', '--silent'] })
      await start.ready()
    })

    it('prints one ready line, with the address of everything', () => {
      const lines = start
        .stdout()
        .split('\n')
        .filter((line) => line.includes('ready'))
      assert.deepEqual(lines, [`ready ${start.baseUrl}`])
    })

    it('has shown what it did on the way', () => {
      for (const step of [
        'Postgres:',
        'Redis:',
        'Database: ',
        'Demo data:',
        'Authorization server:',
        'Resource API:',
      ])
        assert.match(start.stdout(), new RegExp(step))
    })

    it('gives a token and the analytics by the two commands that it prints', async () => {
      const answer = JSON.parse(await shellWithCurl(curlPair(start.stdout()), tmpdir()))
      assert.equal(answer.vendorId, 'ven_acme')
      assert.equal(answer.days.length, 30)
      assert.ok(answer.totals.revenueMinor > 0)
    })

    it('does not print the secret of the demo client where it may end up in a file', async () => {
      const secret = await readFile(join(dataDir, 'demo-client-secret'), 'utf8')
      assert.match(secret, /^ias_/)
      assert.ok(!start.stdout().includes(secret) && !start.stderr().includes(secret))
    })

    it('makes a password for the demo users and tells it', async () => {
      const password = /Password +(\S+) +\(shown only once\)/.exec(start.stdout())?.[1] ?? ''
      for (const email of ['owner@acme.example', 'member@acme.example', 'owner@globex.example'])
        assert.equal((await signIn(start.baseUrl, email, password)).status, 201, email)
      assert.equal((await signIn(start.baseUrl, 'owner@acme.example', `${password}x`)).status, 401)
    })

    it('serves the workspace', async () => {
      const response = await fetch(start.baseUrl)
      assert.match(response.headers.get('content-type') ?? '', /text\/html/)
    })

    it('serves each service at an address of its own', async () => {
      for (const label of ['Authorization server', 'Resource API']) {
        const url = new RegExp(`${label} +(http://127.0.0.1:\\d+)`).exec(start.stdout())?.[1]
        assert.equal((await fetch(`${url}/readyz`)).status, 200, label)
      }
    })

    it('keeps what is secret in files that only their owner can read', async () => {
      for (const name of await readdir(dataDir)) {
        const { mode } = await stat(join(dataDir, name))
        assert.equal(mode & 0o077, 0, `${name} ${mode.toString(8)}`)
      }
    })

    it('gives the stores no rights and no secrets', async () => {
      for (const pattern of [/native\/bin\/postgres/, /redis-server|valkey-server/]) {
        const pid = await pidOf(start, pattern)
        const environment = (await readFile(`/proc/${pid}/environ`, 'utf8')).split('\0').filter(Boolean)
        // Postgres writes over the start of its own.
        const names = environment.filter((line) => /^[A-Z_]+=/.test(line)).map((line) => line.split('=')[0])
        assert.deepEqual(
          names.filter((name) => !['PATH', 'LD_LIBRARY_PATH'].includes(name as string)),
          [],
        )
      }
      const status = await readFile(`/proc/${await pidOf(start, /native\/bin\/postgres/)}/status`, 'utf8')
      assert.match(status, /^CapEff:\t0+$/m)
    })

    it('gives each service only what it needs', async () => {
      const environment = async (pattern: RegExp) =>
        readFile(`/proc/${await pidOf(start, pattern)}/environ`, 'utf8')
      const auth = await environment(/apps\/auth\/main\.ts/)
      const api = await environment(/apps\/api\/main\.ts/)
      assert.match(auth, /DATABASE_URL=postgres:\/\/integration_auth:/)
      assert.match(auth, /REDIS_URL=redis:\/\/auth:/)
      assert.match(auth, /KEY_ENCRYPTION_KEY=/)
      assert.match(api, /DATABASE_URL=postgres:\/\/integration_api:/)
      assert.match(api, /REDIS_URL=redis:\/\/api:/)
      assert.doesNotMatch(api, /KEY_ENCRYPTION_KEY=/)
      for (const text of [auth, api]) {
        const url = new URL(/(?:^|\0)DATABASE_URL=([^\0]*)/.exec(text)?.[1] ?? '')
        for (const other of ['postgres', 'template1']) {
          url.pathname = other
          await assert.rejects(new pg.Client(url.href).connect(), { code: '42501' }, other)
        }
      }
    })

    it('refuses to share its data folder with another', async () => {
      const other = await startProcess({ dataDir })
      assert.equal(await other.ended(), 1)
      assert.match(other.stderr(), /Another local stack is running on DATA_DIR .*: stop it first/)
      assert.equal((await fetch(start.baseUrl)).status, 200)
    })

    it('ends everything that it started on SIGTERM, with exit code 0', async () => {
      assert.ok((await start.running()).length > 5)
      assert.equal(await start.stop(), 0)
      assert.deepEqual(await start.running(), [])
    })
  })

  describe('again', () => {
    before(async () => {
      start = await startProcess({ dataDir, env: { DEMO_PASSWORD: 'another password' } })
      await start.ready()
    })

    it('finds the demo client, and the pair of commands works as before', async () => {
      const answer = JSON.parse(await shellWithCurl(curlPair(start.stdout()), tmpdir()))
      assert.equal(answer.vendorId, 'ven_acme')
    })

    it('leaves the password as it was', async () => {
      assert.doesNotMatch(start.stdout(), /shown only once/)
      assert.equal((await signIn(start.baseUrl, 'owner@acme.example', 'another password')).status, 401)
    })

    it('says so when the demo client was revoked, and makes another only when asked', async () => {
      // Revoked as a person would, in the company's list.
      const { clientId } = JSON.parse(await readFile(join(dataDir, 'secrets.json'), 'utf8')).demoClient
      const { databaseUrl } = JSON.parse(await readFile(join(dataDir, 'running.json'), 'utf8'))
      const { createPostgres } = await import('#shared/stores/postgres.ts')
      const { markClientRevoked } = await import('#shared/oauth/clients.ts')
      const db = createPostgres({ url: databaseUrl, poolSize: 1, applicationName: 'test' })
      await markClientRevoked(db, { vendorId: 'ven_acme', clientId, revokedBy: null })
      await db.destroy()
      await start.stop()

      start = await startProcess({ dataDir })
      await start.ready()
      assert.match(start.stdout(), /The demo client was revoked/)
      assert.equal(curlPair(start.stdout()), '')
      await start.stop()

      start = await startProcess({ dataDir, args: ['--new-demo-client'] })
      await start.ready()
      assert.ok(!start.stdout().includes(clientId))
      const answer = JSON.parse(await shellWithCurl(curlPair(start.stdout()), tmpdir()))
      assert.equal(answer.vendorId, 'ven_acme')
    })
  })

  describe('when parts of it die', () => {
    // The first of them finds the one that runs from before.
    beforeEach(async () => {
      if (start.process.exitCode === null && start.process.signalCode === null) return
      start = await startProcess({ dataDir })
      await start.ready()
    })

    for (const [name, pattern] of [
      ['The authorization server', /apps\/auth\/main\.ts/],
      ['The resource API', /apps\/api\/main\.ts/],
      ['Redis', /redis-server|valkey-server/],
    ] as const) {
      it(`says so and stops the rest when ${name} is killed`, async () => {
        process.kill(await pidOf(start, pattern), 'SIGKILL')
        assert.equal(await start.ended(), 1)
        assert.match(start.stderr(), new RegExp(`${name} ended unexpectedly: SIGKILL`))
        assert.deepEqual(await start.running(), [])
      })
    }

    it('starts again on what was left by a kill', async () => {
      start.process.kill('SIGKILL')
      start = await startProcess({ dataDir })
      await start.ready()
    })

    it('leaves nothing behind when it is killed itself', async () => {
      start.process.kill('SIGKILL')
      await start.ended()
      const deadline = Date.now() + 20_000
      while ((await start.running()).length > 0 && Date.now() < deadline) await sleep(50)
      assert.deepEqual(await start.running(), [])
    })
  })
})

async function pidOf(start: Start, pattern: RegExp): Promise<number> {
  const found = (await start.running()).find(({ command }) => pattern.test(command))
  assert.ok(found, `nothing runs that matches ${pattern}`)
  return found.pid
}
