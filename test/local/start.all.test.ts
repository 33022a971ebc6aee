import assert from 'node:assert/strict'
import { chmod, readdir, readFile, stat } from 'node:fs/promises'
import { basename, join } from 'node:path'
import pg from 'pg'
import { addMail } from '../../apps/api/mail/outbox.ts'
import { withoutBeats } from '../support/beats.ts'
import { eventually } from '../support/eventually.ts'
import { sharedFolder } from '../support/folder.ts'
import { run } from '../support/program.ts'
import { recordedTexts } from '../support/recorded.ts'
import { type Start, startStackProcess } from '../support/start.ts'
import { connectedDatabase } from '../support/stores.ts'

/*
 * Four starts on one data folder; each begins where the previous one stopped, crashed or was killed.
 */
async function signIn(baseUrl: string, email: string, password: string) {
  const response = await fetch(`${baseUrl}/v1/session`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ email, password }),
  })
  return { status: response.status, body: await response.json() }
}

/** Runs the commands that the card prints, ready to paste. Returns their output. */
async function runCard(output: string): Promise<string> {
  const [commands = ''] = /^ +set -a[\s\S]*?issued}"$/m.exec(output) ?? []
  return (await run('sh', ['-ec', commands])).stdout
}

describe('npm start', () => {
  let start: Start
  after(async () => {
    if (start.process.exitCode === null && start.process.signalCode === null) await start.stop()
  })
  const folder = sharedFolder()
  // A quote, a space and a name that is not ASCII: all that a home folder may have in its path.
  const dataDir = join(folder, `Zoë's data`)
  before(() => chmod(folder, 0o711))
  const { assertRecorded } = recordedTexts(new URL('start.txt', import.meta.url), [
    [/(?<=localhost:|127\.0\.0\.1:)\d+/g, 'PORT'],
    [new RegExp(`\\S*${basename(folder)}`, 'g'), 'FOLDER'],
    [/(?<=Password +)\S+/g, 'PASSWORD'],
  ])

  async function startAgain(options: { env?: Record<string, string>; args?: string[] } = {}): Promise<void> {
    // After a test that failed.
    const last: Start | undefined = start
    if (last && (await last.running()).length > 0) await last.stop()
    start = await startStackProcess({ dataDir, ...options })
    await start.ready()
  }

  describe('the first time', () => {
    before(async () => {
      const command = ['sh', '-c', 'umask 0; exec npm start --silent']
      start = await startStackProcess({ dataDir, command })
      await start.ready()
    })

    it('prints one ready line, with the address of everything', () => {
      assert.deepEqual(start.stdout().match(/.*ready.*/g), [`ready ${start.baseUrl}`])
    })

    it('prints what it does, and then what a person needs', () => {
      const [progress = '', card = ''] = withoutBeats(start.stdout()).split('\nready ')
      // Only the first start of all builds the screens.
      const text = progress.replaceAll(/^ *[\d.]+ s {2}(?:Workspace: .*\n)?/gm, '')
      assertRecorded('progress, in any order', text.trim().split('\n').sort().join('\n'))
      assertRecorded('card', card)
    })

    it('gives a token and the analytics by the commands that it prints', async () => {
      const answer = JSON.parse(await runCard(start.stdout()))
      assert.equal(answer.vendorId, 'ven_acme')
      assert.equal(answer.days.length, 30)
      assert.ok(answer.totals.revenueMinor > 0)
    })

    it('does not print the secret of the demo client where it may end up in a file', async () => {
      const env = await readFile(join(dataDir, 'demo-client.env'), 'utf8')
      const [secret = ''] = /(?<=SECRET=)ias_.+/.exec(env) ?? []
      assert.ok(secret && !start.stdout().includes(secret) && !start.stderr().includes(secret))
    })

    it('makes a password for the demo users and shows it', async () => {
      const password = /Password +(\S+) +\(shown only once\)/.exec(start.stdout())?.[1] ?? ''
      for (const email of ['owner@acme.example', 'member@acme.example', 'owner@globex.example'])
        assert.equal((await signIn(start.baseUrl, email, password)).status, 201, email)
      assert.equal((await signIn(start.baseUrl, 'owner@acme.example', `${password}x`)).status, 401)
    })

    it('keeps what is secret in files that only their owner can read', async () => {
      for (const name of await readdir(dataDir)) {
        const { mode } = await stat(join(dataDir, name))
        assert.equal(mode & 0o077, 0, `${name} ${mode.toString(8)}`)
      }
      assert.equal((await stat(dataDir)).mode & 0o066, 0)
    })

    it('gives the stores no rights and no secrets', async () => {
      for (const pattern of [/native\/bin\/postgres/, /redis-server|valkey-server/]) {
        const pid = await waitForPid(start, pattern)
        const environment = (await readFile(`/proc/${pid}/environ`, 'utf8')).split('\0').filter(Boolean)
        // Postgres writes over the start of its own.
        const isOther = (line: string) => /^(?!(?:PATH|LD_LIBRARY_PATH)=)[A-Z_]+=/.test(line)
        assert.equal(environment.find(isOther), undefined)
      }
      const text = await readFile(`/proc/${await waitForPid(start, /native\/bin\/postgres/)}/status`, 'utf8')
      assert.match(text, /^CapEff:\t0+$/m)
    })

    it('runs no store and no service as root, nor with files that others may write', async () => {
      const running = await start.running()
      for (const pattern of [/bin\/postgres -D/, /redis-server|valkey-server/, /auth\/main/, /api\/main/]) {
        const { pid, command } = running.find(({ command }) => pattern.test(command)) ?? {}
        const status = await readFile(`/proc/${pid}/status`, 'utf8')
        assert.match(status, /^Umask:\t00[2367]{2}\n(?:.*\n)*Uid:\t(?!0\t)\d+/m, command)
      }
    })

    it('gives each service only what it needs', async () => {
      const environment = async (pattern: RegExp) =>
        readFile(`/proc/${await waitForPid(start, pattern)}/environ`, 'utf8')
      const auth = await environment(/apps\/auth\/main\.ts/)
      const api = await environment(/apps\/api\/main\.ts/)
      assert.match(auth, /DATABASE_URL=postgres:\/\/integration_auth:/)
      assert.match(auth, /REDIS_URL=redis:\/\/auth:/)
      assert.match(auth, /KEY_ENCRYPTION_KEY=/)
      assert.match(api, /DATABASE_URL=postgres:\/\/integration_api:/)
      assert.match(api, /REDIS_URL=redis:\/\/api:/)
      assert.doesNotMatch(api, /KEY_ENCRYPTION_KEY=/)
      assert.match(await readFile(join(dataDir, 'running.json'), 'utf8'), /databaseUrl.*_operator:/)
      for (const text of [auth, api]) {
        const url = new URL(/(?:^|\0)DATABASE_URL=([^\0]*)/.exec(text)?.[1] ?? '')
        for (const other of ['postgres', 'template1']) {
          url.pathname = other
          await assert.rejects(new pg.Client(url.href).connect(), { code: '42501' }, other)
        }
      }
    })

    it('keeps the audit trail in a file that the card names, though the services print only warnings', async () => {
      await runCard(start.stdout())
      const file = /Audit trail +(.+)/.exec(start.stdout())?.[1] ?? ''
      assert.equal((await stat(file)).mode & 0o777, 0o600)
      // Lines are written together, a moment after the answer.
      const isIssued = (line: string) => line.includes('"event":"token.issued"')
      const read = async () => (await readFile(file, 'utf8')).split('\n').find(isIssued)
      const issued = JSON.parse(await eventually(read, { every_ms: 100 }))
      assert.match(issued.clientId, /^cli_/)
      assert.equal(issued.service, 'auth')
      assert.equal(typeof issued.pid, 'number')
      assert.doesNotMatch(start.stderr(), /token\.issued/)
    })

    it('writes each mail to a file in the folder that the card names', async () => {
      const folder = /Mail +files in (.+)/.exec(start.stdout())?.[1] ?? ''
      const { ownerUrl } = JSON.parse(await readFile(join(dataDir, 'running.json'), 'utf8'))
      await using db = connectedDatabase(ownerUrl)
      const { rows } = await db.raw(`select user_id from users where email = 'owner@acme.example'`)
      const detail = { at: new Date().toISOString(), by: 'operator' } as const
      await addMail(db, 'password_changed', { topic: 'x', userId: rows[0].user_id, detail })
      const [name = ''] = await eventually(async () => {
        const names = (await readdir(folder)).filter((each) => each.endsWith('.txt'))
        return names.length > 0 && names
      })
      assert.match(await readFile(join(folder, name), 'utf8'), /^From: .+\nTo: owner@acme\.example\nSubject:/)
    })

    it('ends everything that it started on SIGTERM, with exit code 0', async () => {
      const file = join(dataDir, 'running.json')
      assert.ok((await start.running()).length > 5)
      await stat(file)
      assert.equal(await start.stop(), 0)
      assert.deepEqual(await start.running(), [])
      // It holds the key encryption key.
      await assert.rejects(stat(file), { code: 'ENOENT' })
    })
  })

  describe('again', () => {
    before(() => startAgain({ env: { DEMO_PASSWORD: 'another password' } }))

    it('finds the demo client, and the pair of commands works as before', async () => {
      const answer = JSON.parse(await runCard(start.stdout()))
      assert.equal(answer.vendorId, 'ven_acme')
    })

    it('leaves the password as it was', async () => {
      assert.doesNotMatch(start.stdout(), /shown only once/)
      assert.equal((await signIn(start.baseUrl, 'owner@acme.example', 'another password')).status, 401)
    })

    it('stops the rest and says so when the resource API is killed', async () => {
      process.kill(await waitForPid(start, /apps\/api\/main\.ts/), 'SIGKILL')
      assert.equal(await start.ended(), 1)
      assert.match(start.stderr(), /The resource API exited unexpectedly: SIGKILL/)
      assert.deepEqual(await start.running(), [])
    })
  })

  describe('once more', () => {
    before(() => startAgain())

    it('starts again on what was left by a kill', async () => {
      start.process.kill('SIGKILL')
      await startAgain()
    })

    it('leaves nothing behind when it is killed itself', async () => {
      start.process.kill('SIGKILL')
      await start.ended()
      await eventually(async () => (await start.running()).length === 0)
    })
  })
})

async function waitForPid(start: Start, pattern: RegExp): Promise<number> {
  const found = (await start.running()).find(({ command }) => pattern.test(command))
  assert.ok(found, `nothing runs that matches ${pattern}`)
  return found.pid
}
