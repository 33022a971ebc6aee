import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { createAcme, sharedAdmin } from '../support/admin.ts'
import { afterwards } from '../support/block.ts'
import { insertTestClient } from '../support/companies.ts'
import { sharedFolder } from '../support/folder.ts'
import { freePort } from '../support/ports.ts'
import { run } from '../support/program.ts'
import { createEmptyDatabase } from '../support/servers.ts'
import { connectedDatabase, untilBlocked } from '../support/stores.ts'

const ROOT = join(import.meta.dirname, '../..')
const SILENCE_MAX_MS = 3_000
/** What each command has to wait for here, on any machine. */
const WAIT_S = 7
const ADMIN = ['infra/admin/main.ts']
const CLIENTS = 10
const LOCK_OF_MIGRATIONS = `select pg_advisory_xact_lock(hashtextextended('integration migrations', 0))`

describe('a command whose work takes long', function () {
  this.timeout(120_000)
  const operator = sharedAdmin({ withAcme: true })
  const folder = sharedFolder()
  /** How long this machine takes to load a program, which is silent until then. */
  let start_ms: number
  let withoutRedis: Record<string, string>

  before(async () => {
    const began_ms = performance.now()
    await run(process.execPath, [...ADMIN, '--help'], { cwd: ROOT })
    start_ms = performance.now() - began_ms
    withoutRedis = { ...operator.env, REDIS_URL: `redis://127.0.0.1:${await freePort()}` }
  })

  /** Runs a command with pipes, and asserts that it is never silent for long, from its start to its end. */
  async function speaks(args: string[], options: { env: Record<string, string>; interruptAt?: RegExp }) {
    const { env, interruptAt } = options
    const delay = monitorEventLoopDelay()
    delay.enable()
    const began_ms = performance.now()
    const child = spawn(process.execPath, args, { cwd: ROOT, env: { ...process.env, ...env } })
    await using _ = afterwards(() => child.kill())
    let text = ''
    let last_ms = began_ms
    const silences: { ms: number; before: string }[] = []
    const hear = (chunk: string) => {
      silences.push({ ms: performance.now() - last_ms, before: chunk })
      last_ms = performance.now()
    }
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk) => {
        text += chunk
        hear(String(chunk))
        if (interruptAt?.test(text)) child.kill('SIGINT')
      })
    const [code] = await once(child, 'close')
    hear('(end)')
    const longest = silences.reduce((one, other) => (other.ms > one.ms ? other : one))
    const max_ms = SILENCE_MAX_MS + start_ms + delay.max / 1e6
    assert.ok(longest.ms < max_ms, `silent ${longest.ms} of ${max_ms} ms before ${longest.before}\n${text}`)
    return { code, text, took_ms: last_ms - began_ms }
  }

  /** Holds what a statement locks until a command has waited for it. */
  async function holding<T>(url: string, sql: string, act: () => Promise<T>): Promise<T> {
    await using db = connectedDatabase(url, { poolSize: 2 })
    const transaction = await db.transaction()
    await transaction.raw(`set local idle_in_transaction_session_timeout = 0; ${sql}`)
    const acting = act()
    await untilBlocked(db)
    await sleep(WAIT_S * 1_000)
    await transaction.rollback()
    return acting
  }

  const addClient = () => insertTestClient(operator.db, { vendorId: 'ven_acme' })

  it('says how far an import is', async () => {
    const file = join(folder, 'events.ndjson')
    await writeFile(file, '{"eventId":"a","type":"click","occurredAt":"2020-01-01T12:00:00Z"}\n')
    const same = `insert into analytics_event_ids (vendor_id, event_id) values ('ven_acme', 'a')`
    const { code, text } = await holding(operator.database.ownerUrl, same, () =>
      speaks([...ADMIN, 'analytics', 'import', file, '--company', 'ven_acme'], operator),
    )
    assert.equal(code, 0, text)
    assert.match(text, /^1 line \(100 %\): 0 stored, 0 already known, \d lines\/s \(\d+ s\)$/m)
  })

  it('says that it revokes a client while Redis is away', async () => {
    const { clientId } = await addClient()
    const args = ['client', 'revoke', 'ven_acme', clientId, '--yes']
    const { code, text } = await speaks([...ADMIN, ...args], { env: withoutRedis })
    assert.equal(code, 0, text)
    assert.match(text, /^Revoking the client at every process \(\d+ s\)$/m)
  })

  it('says what it waits for while it blocks all access, and allows it again', async () => {
    const since = new Date().toISOString()
    const fence = await speaks([...ADMIN, 'restore', 'fence', '--since', since, '--yes'], {
      env: withoutRedis,
    })
    assert.equal(fence.code, 0, fence.text)
    assert.match(fence.text, /^Waiting 6 s until every process has noticed the fence$/m)
    assert.match(fence.text, /^Asking Redis \(\d+ s\)$/m)
    const confirm = await speaks([...ADMIN, 'restore', 'confirm'], { env: withoutRedis })
    assert.equal(confirm.code, 0, confirm.text)
  })

  it('says how many clients of an erased company are revoked, and lets their waits overlap', async () => {
    for (let added = 0; added < CLIENTS; added += 1) await addClient()
    const erase = await speaks([...ADMIN, 'company', 'erase', 'ven_acme', '--yes'], { env: withoutRedis })
    assert.equal(erase.code, 0, erase.text)
    assert.match(erase.text, new RegExp(`^\\d+ of ${CLIENTS} clients are revoked \\(\\d+ s\\)$`, 'm'))
    assert.match(erase.text, /^Waiting 15 s for requests under way$/m)
    // One after the other, the clients alone take a minute.
    assert.ok(erase.took_ms < CLIENTS * 6_000, `took ${erase.took_ms} ms`)
  })

  it('says what an interruption leaves', async () => {
    const vendorId = 'ven_interrupted'
    await createAcme(operator, vendorId)
    await using database = await createEmptyDatabase()
    await using db = connectedDatabase(database.ownerUrl)
    const other = await db.transaction()
    await using _ = afterwards(() => other.rollback())
    await other.raw(`set local idle_in_transaction_session_timeout = 0; ${LOCK_OF_MIGRATIONS}`)
    const since = new Date().toISOString()
    for (const [args, env, heard, left] of [
      [
        [...ADMIN, 'company', 'erase', vendorId, '--yes'],
        withoutRedis,
        /^Waiting 15 s/m,
        /\nInterrupted\. What was revoked or erased stays so\. .* Run the command again to finish\.\n$/,
      ],
      [
        [...ADMIN, 'restore', 'fence', '--since', since, '--yes'],
        withoutRedis,
        /^Waiting 6 s/m,
        /\nInterrupted\. All access may be blocked, .* Run the command again\.\n$/,
      ],
      [
        ['infra/admin/migrate-command.ts'],
        { DATABASE_URL: database.ownerUrl },
        /^Waiting for the database/m,
        /\nInterrupted\. Each migration is done whole or not at all\. Run the command again for the rest\.\n$/,
      ],
    ] as const) {
      const { code, text } = await speaks([...args], { env, interruptAt: heard })
      assert.equal(code, 130, text)
      assert.match(text, left)
    }
  })
})
