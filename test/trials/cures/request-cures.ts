import assert from 'node:assert/strict'
import { cp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { systemClock } from '#shared/process/clock.ts'
import { newUserId } from '../../../apps/api/accounts/new-ids.ts'
import { unusableHash } from '../../../apps/api/accounts/passwords.ts'
import { insertUser } from '../../../apps/api/accounts/people.ts'
import { addMail } from '../../../apps/api/mail/outbox.ts'
import { createFetchKeys } from '../../../apps/api/workload/fetch-keys.ts'
import { refreshIssuers } from '../../../apps/api/workload/refresh-issuers.ts'
import { createResolution, TEST_INTERNET } from '../../api/callbacks/sending.ts'
import { refused, runAdmin, succeeded } from '../../support/admin.ts'
import { reviseDays } from '../../support/analytics.ts'
import { newKeyPair } from '../../support/assertions.ts'
import { createTestClient } from '../../support/auth.ts'
import { afterwards } from '../../support/block.ts'
import { eventually } from '../../support/eventually.ts'
import { createTestLog } from '../../support/log.ts'
import { preloading } from '../../support/process.ts'
import { startSmtp } from '../../support/smtp.ts'
import { startWorkloadIssuer } from '../../support/workload-issuer.ts'
import type { Cure } from './cures.ts'
import { printedCommand, printedStatements } from './documents.ts'
import type { CureSite } from './site.ts'

const ROOT = join(import.meta.dirname, '../../..')
const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const AT_ONCE = 40
const GUESS_EVERY_MS = 300
const ASK_EVERY_MS = 100
const EVENTS_PER_CALL = 1_000
const REPORT_EVERY_MS = 500
/** More than one process lets wait. */
const REPORTS = 250
/** A process is stopped for this long, then runs for this long, as if something else used half of its CPU. */
const BUSY_MS = 400

const times = <T>(count: number, act: (i: number) => T): T[] =>
  Array.from({ length: count }, (_, i) => act(i))

/** Someone leaves a transaction open. Resolves with how the page finds and ends it. */
async function leaveOpen(site: CureSite, sql: string) {
  const transaction = await site.db.transaction()
  const open = site.use(afterwards(() => transaction.rollback().catch(() => {})))
  await transaction.raw(sql)
  return async () => {
    const [find = '', stop = ''] = printedStatements()
    const findBlocker = () => site.db.raw(find).then(({ rows }) => rows.length === 1 && rows[0])
    const { pid } = await eventually(findBlocker, { limit_ms: 2 * MINUTE_MS })
    await site.db.raw(stop.replace('PID', pid))
    // Until then knex keeps the place of its ended session in the pool.
    await open[Symbol.asyncDispose]()
  }
}

/** From many addresses, each of which stays below the limit for one. */
async function secretsGuessed(site: CureSite) {
  const attacked = await site.newClient()
  const wrong = { ...attacked, clientSecret: (await site.newClient()).clientSecret }
  const addresses = times(AT_ONCE, (i) => `198.51.100.${i}`)
  const blocked = new Set<unknown>()
  const isFree = (address: string) => !blocked.has(address)
  const guess = (address: string, i: number) => site.token(i % 2, wrong, address)
  const end = site.repeat(GUESS_EVERY_MS, () => Promise.all(addresses.filter(isFree).map(guess)))
  return async () => {
    const refusals = site.auth
      .flatMap((instance) => instance.log())
      .filter(({ event }) => event === 'request.refused')
    const suspects = refusals.filter(({ clientId }) => clientId === attacked.clientId)
    for (const { clientAddress } of suspects) blocked.add(clientAddress)
    assert.equal(blocked.size, AT_ONCE)
    await end()
  }
}

async function limitHit(site: CureSite) {
  const client = await site.newClient()
  const bearer = await site.tokenOf(client)
  const status = (i: number) => site.read(i % 2, client, bearer).then((answer) => answer.status)
  const end = site.repeat(100, () => Promise.allSettled(times(AT_ONCE, status)))
  return async () => {
    await site.api[0].untilLogged('request.answered', `"status":429`)
    await site.api[0].untilLogged('request.answered', `"clientId":"${client.clientId}"`)
    for (const instance of site.api) await instance.restart({ env: { RATE_API_PER_CLIENT: '1000000/60' } })
    await eventually(async () =>
      (await Promise.all(times(AT_ONCE, status))).every((status) => status === 200),
    )
    await end()
  }
}

async function clockAhead(site: CureSite) {
  const second = site.auth[1]
  const ahead = 'const now = Date.now; Date.now = () => now() + 180_000'
  await second.stop()
  second.spawn({ env: { NODE_OPTIONS: preloading(ahead) } })
  return async () => {
    await second.untilReady(503, '"clock"')
    await second.untilLogged('clock.wrong')
    assert.equal((await site.token(1, site.regular)).status, 503)
    await second.restart()
    assert.equal((await site.token(1, site.regular)).status, 200)
  }
}

async function diskFull(site: CureSite) {
  const [api] = site.api
  const ballast = join(site.disk, 'ballast')
  const bearer = await site.tokenOf(site.regular)
  const report = async () => (await site.report(0, site.regular, bearer, EVENTS_PER_CALL)).status
  await writeFile(ballast, Buffer.alloc(64 * 1_024 ** 2)).catch(({ code }) => assert.equal(code, 'ENOSPC'))
  await eventually(async () => (await report()) === 503)
  const end = site.repeat(REPORT_EVERY_MS, report)
  return async () => {
    await end()
    await api.untilReady(200, '"ready"')
    const answered = api.log().find(({ event, status }) => event === 'request.answered' && status === 503)
    await api.untilLogged('request.failed', String(answered?.requestId))
    await api.untilLogged('request.failed', 'could not extend file')
    await rm(ballast)
    assert.equal(await report(), 200)
  }
}

/** Each client has a company of its own: calls of one company take turns. */
async function statementsWait(site: CureSite) {
  const clients = await Promise.all(times(AT_ONCE, site.newClient))
  const bearers = await Promise.all(clients.map(site.tokenOf))
  const endBlocker = await leaveOpen(site, 'lock table analytics_daily in access exclusive mode')
  const reports = clients.map((client, i) => () => site.report(i % 2, client, String(bearers[i])))
  const ends = reports.map((report) => site.repeat(ASK_EVERY_MS, () => report().catch(() => {})))
  return async () => {
    await endBlocker()
    await eventually(async () => (await reports[0]?.())?.status === 200)
    await Promise.all(ends.map((end) => end()))
  }
}

async function storesGone(site: CureSite) {
  const bearer = await site.tokenOf(site.regular)
  await Promise.all([site.redis.stop(), site.stopPostgres()])
  return async () => {
    assert.equal((await site.read(0, site.regular, bearer)).status, 503)
    await site.startPostgres()
    await eventually(async () => (await site.token(0, site.regular)).status === 200, { limit_ms: MINUTE_MS })
    await site.redis.start()
  }
}

/** A process that gets the CPU half of the time. */
async function cpuBusy(site: CureSite) {
  const { api } = site
  return site.repeat(0, async () => {
    api[1].signal('SIGSTOP')
    await sleep(BUSY_MS)
    api[1].signal('SIGCONT')
    await sleep(BUSY_MS)
  })
}

async function daysChangedInSql(site: CureSite) {
  const client = await site.newClient()
  const bearer = await site.tokenOf(client)
  const { vendorId } = client
  const insertDay = (daysAgo: number) =>
    `insert into analytics_daily (vendor_id, date, clicks, last_event_at)
     values ('${vendorId}', current_date - ${daysAgo}, 7, now())`
  const figures = async () => (await site.read(0, client, bearer)).text
  await site.db.raw(insertDay(1))
  await reviseDays(site.db, vendorId)
  const before = await figures()
  await site.db.raw(insertDay(2))
  return async () => {
    assert.equal(await figures(), before)
    await site.db.raw(printedCommand('days were loaded or changed in SQL', /^update /))
    assert.notEqual(await figures(), before)
  }
}

/** By the tokens of one client, which leave the page as if 20 minutes had passed. */
async function pageLarge(site: CureSite) {
  const { clientId, vendorId } = await site.newClient()
  await site.db.transaction(async (transaction) => {
    await transaction.raw('set local session_replication_role = replica')
    await transaction.raw(
      `insert into revoked_tokens (jti, client_id, expires_at)
       select gen_random_uuid(), ?, now() + interval '15 minutes' from generate_series(1, 10500)`,
      [clientId],
    )
  })
  return async () => {
    const { rows } = await site.db.raw(printedCommand('IntegrationRevocationsPageLarge', /^select /))
    const [{ vendor_id, tokens, clients }] = rows
    assert.deepEqual([vendor_id, Number(tokens), Number(clients)], [vendorId, 10_500, 0])
    await site.db.raw(`update revoked_tokens set expires_at = now() - interval '6 minutes'`)
  }
}

/** DNS and the internet have stand-ins, so this process fetches what is due, as one of the API does. */
async function issuerKeysOld({ db, use }: CureSite) {
  const keys = [{ ...newKeyPair().jwk, kid: 'a' }]
  const { issuer } = use(await startWorkloadIssuer(keys))
  const keysAsOf = new Date(Date.now() - 2 * HOUR_MS)
  await createTestClient(db, {
    workload: { issuer, claims: { sub: 'a' }, keys, keysFrom: 'issuer', keysAsOf },
  })
  const { log, lines } = createTestLog()
  const fetch = (internet: typeof TEST_INTERNET) =>
    refreshIssuers({
      db,
      clock: systemClock,
      log,
      fetchKeys: createFetchKeys(internet),
      isEnding: () => false,
    })
  await fetch({ ...TEST_INTERNET, resolve: async () => createResolution() })
  return async () => {
    assert.partialDeepStrictEqual(lines, [{ event: 'workload_issuer.failed', issuer }])
    // As if the hour had passed after which it is tried again.
    await db.raw(`update workload_issuers set attempted_at = now() - interval '2 hours'`)
    await fetch(TEST_INTERNET)
  }
}

/** The other instance is updated later. */
async function rolloutStopped(site: CureSite) {
  const release = join(site.folder, 'release')
  for (const part of ['apps/auth', 'shared'])
    await cp(join(ROOT, part), join(release, part), { recursive: true })
  const manifest = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8'))
  await writeFile(join(release, 'package.json'), JSON.stringify({ ...manifest, version: '0.0.1' }))
  await symlink(join(ROOT, 'node_modules'), join(release, 'node_modules'))
  const main = relative(ROOT, join(release, 'apps/auth/main.ts'))
  const [first, second] = site.auth
  await first.restart({ main })
  return () => second.restart({ main })
}

/** A transaction that someone left open holds a row that should be gone. */
async function purgeLate(site: CureSite) {
  const [api] = site.api
  await site.db.raw(`insert into client_usage_by_minute values ('cli_x', now() - interval '30 hours', 1, 0)`)
  const end = await leaveOpen(site, `select from client_usage_by_minute where client_id = 'cli_x' for update`)
  await api.restart()
  return async () => {
    await api.untilLogged('housekeeping.failed', 'purging client_usage_by_minute')
    await end()
    await api.restart()
    await api.untilLogged('housekeeping.done', '"client_usage_by_minute":1')
  }
}

async function mailRefused(site: CureSite) {
  const smtp = site.use(await startSmtp({ tls: 'none', login: { user: 'mailer', password: 'right' } }))
  const env = (password: string) => ({
    SMTP_URL: `smtp://mailer:${password}@127.0.0.1:${smtp.port}`,
    MAIL_FROM: 'mail@acme.example',
  })
  const restart = async (password: string) => {
    for (const instance of site.api) await instance.restart({ env: env(password) })
  }
  const user = { userId: newUserId(), email: 'ada@acme.example', name: 'Ada', passwordHash: unusableHash() }
  await insertUser(site.db, user)
  const detail = { at: new Date().toISOString(), by: 'operator' } as const
  await addMail(site.db, 'password_changed', { topic: 'a', userId: user.userId, detail })
  await site.db.raw(`update mails set created_at = now() - interval '20 minutes'`)
  await restart('wrong')
  return async () => {
    await Promise.any(
      site.api.map((api) => api.untilLogged('mail.unusable', 'refuses the user or the password')),
    )
    const command = printedCommand('IntegrationMailNotSent', / mail test /)
    const args = command.replace('npm run admin -- ', '').replace('ADDRESS', 'op@acme.example').split(' ')
    await refused(runAdmin(args, { env: env('wrong') }), /refuses the user or the password/)
    await succeeded(runAdmin(args, { env: env('right') }))
    await restart('right')
    await smtp.mailTo(user.email)
  }
}

/** The look-ups of reports wait for a table that someone locks. */
async function reportsLost(site: CureSite) {
  const client = await site.newClient()
  const report = (secret: string, i: number) =>
    fetch(`${site.api[0].url}/v1/found-secrets`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', 'X-Forwarded-For': `198.51.100.${i % 200}` },
      body: JSON.stringify({ secrets: [secret] }),
    })
  const endBlocker = await leaveOpen(site, 'lock table oauth_clients in access exclusive mode')
  const answers = await Promise.all(times(REPORTS, (i) => report(client.clientSecret, i)))
  assert.ok(answers.every(({ status }) => status === 202))
  return async () => {
    await site.api[0].untilLogged('secret_report.lost', '"busy"')
    await endBlocker()
    assert.equal((await report(client.clientSecret, 0)).status, 202)
    await site.api[0].untilLogged('secret.found', client.clientId)
  }
}

export const REQUEST_CURES: readonly Cure[] = [
  { alerts: ['IntegrationWrongSecrets'], cause: secretsGuessed },
  { alerts: ['IntegrationLimitsHit'], cause: limitHit },
  {
    alerts: ['IntegrationNotReady', 'IntegrationClockOff', 'IntegrationTokenErrors'],
    rows: ['the wall clock of an authorization server'],
    cause: clockAhead,
  },
  { alerts: ['IntegrationApiErrors'], rows: ["Postgres' disk is full"], cause: diskFull },
  { alerts: ['IntegrationUndecided'], rows: ['both are down'], cause: storesGone },
  { alerts: ['IntegrationSlow', 'IntegrationPoolExhausted'], cause: statementsWait },
  { alerts: ['IntegrationEventLoopLag'], cause: cpuBusy },
  {
    alerts: ['IntegrationSecretFound'],
    async cause(site) {
      const client = await site.newClient()
      const body = JSON.stringify({ secrets: [client.clientSecret] })
      const report = { method: 'POST', headers: { 'Content-Type': 'application/json' }, body }
      assert.equal((await fetch(`${site.api[0].url}/v1/found-secrets`, report)).status, 202)
      return async () => {
        await site.api[0].untilLogged('secret.found', client.clientId)
        const command = printedCommand('IntegrationSecretFound', / client revoke/)
        const filledIn = command.replace('VENDOR_ID', client.vendorId).replace('CLIENT_ID', client.clientId)
        await site.admin(filledIn, '--yes')
        assert.equal((await site.token(0, client)).status, 401)
      }
    },
  },
  { alerts: ['IntegrationSecretReportsLost'], cause: reportsLost },
  { alerts: ['IntegrationMailNotSent'], cause: mailRefused },
  { rows: ['days were loaded or changed in SQL'], cause: daysChangedInSql },
  { alerts: ['IntegrationRevocationsPageLarge'], cause: pageLarge },
  { alerts: ['IntegrationIssuerKeysOld'], cause: issuerKeysOld },
  { alerts: ['IntegrationPurgesLate'], cause: purgeLate },
  { alerts: ['IntegrationVersionsDiffer'], cause: rolloutStopped },
]
