import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { eventually } from '../../support/eventually.ts'
import { asAdmin } from '../../support/revocation.ts'
import { createTestRedis } from '../../support/servers.ts'
import type { Cure } from './cures.ts'
import { printedCommand, restoreCommand, restoreScript } from './documents.ts'
import type { Instance } from './instance.ts'
import type { CureSite } from './site.ts'

const APART_S = 180
const MINUTE_MS = 60_000

const redisCommand = ({ redis }: CureSite, [command = '', ...args]: string[]) =>
  asAdmin(redis, (admin) => admin.call(command, ...args))

async function postgresReadOnly(site: CureSite) {
  const [api] = site.api
  const bearer = await site.tokenOf(site.regular)
  const status = async () => (await site.report(0, site.regular, bearer)).status
  await site.beside.raw('alter database integration set default_transaction_read_only = on')
  await site.closeConnections()
  return async () => {
    await api.untilReady(200, 'read-only')
    assert.deepEqual([await status(), (await site.token(0, site.regular)).status], [503, 200])
    const command = printedCommand('Postgres takes no writes', /^psql /)
    const statements = [...command.matchAll(/-c '([^']+)'/g)].map(([, sql = '']) => sql)
    const connection = await site.db.client.acquireConnection()
    for (const sql of statements) await connection.query(sql)
    await site.db.client.releaseConnection(connection)
    await eventually(async () => (await status()) === 200, { limit_ms: MINUTE_MS })
  }
}

async function keysUnreadable(site: CureSite) {
  const [first, second] = site.auth
  const bearer = await site.tokenOf(site.regular)
  const file = join(site.folder, 'key')
  const fromFile = { KEY_ENCRYPTION_KEY: undefined, KEY_ENCRYPTION_KEY_FILE: file }
  await Promise.all([first.stop(), second.stop()])
  const ends = [
    first.spawn({ env: { KEY_ENCRYPTION_KEY: Buffer.alloc(32, 1).toString('base64') } }),
    second.spawn({ env: fromFile }),
  ]
  return async () => {
    const [other, missing] = await Promise.all(
      ends.map(async ({ exit, stderr }) => [(await exit).code, stderr()]),
    )
    assert.equal(other?.[0], 78)
    assert.match(String(other?.[1]), /KEY_ENCRYPTION_KEY/)
    assert.equal(missing?.[0], 78)
    assert.match(String(missing?.[1]), /no such file or directory/)
    assert.equal((await site.read(0, site.regular, bearer)).status, 200)
    // There are keys, so the key that decrypts them is wrong.
    const { stdout } = await site.admin(printedCommand('IntegrationNoSigningKey', / key list$/))
    assert.match(stdout, /active/)
    await writeFile(file, site.keyEncryptionKey)
    await first.start()
    await second.start({ env: fromFile })
  }
}

/** Restores a backup of before a revocation while the services run. */
async function databaseRestored(site: CureSite) {
  const client = await site.newClient()
  const since = new Date().toISOString()
  await site.exclusively('create database backup template integration tablespace disk')
  const { stderr: trail } = await site.admin(`client revoke ${client.vendorId} ${client.clientId} --yes`)
  await eventually(async () => (await site.token(0, client)).status === 401)
  await site.exclusively(
    'drop database integration with (force)',
    'alter database backup rename to integration',
  )
  return async () => {
    const instances = [...site.auth, ...site.api]
    await site.api[0].untilReady(503, 'an operator: the database was restored')
    await eventually(async () => (await site.token(0, site.regular)).status === 503)
    await Promise.all(instances.map((instance) => instance.stop()))
    await site.migrate()
    const readLines = (parts: readonly Instance[]) =>
      parts.flatMap((part) => part.log()).map((line) => `${JSON.stringify(line)}\n`)
    const logs = { 'api.log': readLines(site.api), 'auth.log': readLines(site.auth), 'admin.log': [trail] }
    for (const [name, lines] of Object.entries(logs)) await writeFile(join(site.folder, name), lines.join(''))
    await site.admin(restoreCommand(/ restore fence /).replace('TIME', since), '--yes')
    const script = restoreScript().replace(/(?<=--arg since )\S+/, since.slice(0, -1))
    const { stdout } = await promisify(execFile)('sh', ['-c', script], { cwd: site.folder })
    const commands = stdout.split('\n').filter((line) => line !== '' && !line.startsWith('#'))
    assert.deepEqual(commands, [`client revoke ${client.vendorId} ${client.clientId} --yes`])
    for (const command of commands) await site.admin(command)
    await site.admin(restoreCommand(/ restore confirm/))
    await Promise.all(instances.map((instance) => instance.start()))
    assert.equal((await site.token(0, site.regular)).status, 200)
    assert.equal((await site.token(0, client)).status, 401)
  }
}

export const STORE_CURES: readonly Cure[] = [
  {
    alerts: ['IntegrationRedisNotTrusted'],
    rows: ["Redis' policy is not noeviction"],
    async cause(site) {
      await redisCommand(site, ['CONFIG', 'SET', 'maxmemory-policy', 'allkeys-lru'])
      return async () => {
        await site.api[0].untilLogged('redis.not_trusted', 'polic')
        await redisCommand(site, printedCommand("Redis' policy", /^CONFIG SET/).split(' '))
      }
    },
  },
  {
    alerts: ['IntegrationRedisNotTrusted'],
    rows: ['two Redis servers'],
    async cause(site) {
      const [first, second] = site.api
      await second.restart({ env: { REDIS_URL: site.use(await createTestRedis(site.folder)).url('api') } })
      return async () => {
        const servers = (instance: Instance) =>
          instance.log().findLast(({ event }) => event === 'redis.new')?.to
        await eventually(() => servers(first) && servers(second) && servers(first) !== servers(second))
        await second.restart()
      }
    },
  },
  {
    alerts: ['IntegrationRedisUnusable', 'IntegrationRoundsStand'],
    async cause(site) {
      await redisCommand(site, ['ACL', 'SETUSER', 'api', 'clearselectors', '-@all'])
      return async () => {
        await site.api[0].untilLogged('redis.unusable', 'NOPERM')
        const { stdout } = await site.admin(printedCommand('IntegrationRedisUnusable', / redis-users/))
        const [, rules = ''] = /^user api on #PASSWORD_API (.*)$/m.exec(stdout) ?? []
        await redisCommand(site, ['ACL', 'SETUSER', 'api', ...rules.split(' ')])
      }
    },
  },
  {
    alerts: ['IntegrationClockOff', 'IntegrationClockDrifts'],
    rows: ['the wall clock of Postgres or Redis'],
    async cause(site) {
      const setClock = (seconds: number) =>
        site.db.raw('update clock_shift set by = make_interval(secs => ?)', [seconds])
      await setClock(APART_S)
      return async () => {
        const [api] = site.api
        await api.untilLogged('clocks.apart')
        await api.untilReady(200, 'clocks')
        // All machines agree, so it is the store. They look every 15 s.
        const offset = 'integration_clock_offset_seconds{store="postgres"}'
        await site.until(`count(${offset} > ${APART_S - 5} < ${APART_S + 5}) == 2`, true)
        await setClock(0)
      }
    },
  },
  {
    alerts: ['IntegrationSigningKeyOld'],
    async cause(site) {
      await site.db.raw(
        `update signing_keys set created_at = created_at - interval '91 days', activates_at = activates_at - interval '91 days'`,
      )
      return () => site.admin(printedCommand('IntegrationSigningKeyOld', / key rotate$/))
    },
  },
  {
    alerts: ['IntegrationServiceDown', 'IntegrationNoSigningKey'],
    rows: [
      'the authorization server is gone',
      'KEY_ENCRYPTION_KEY does not match',
      'the file of KEY_ENCRYPTION_KEY_FILE',
    ],
    cause: keysUnreadable,
  },
  {
    alerts: ['IntegrationServiceUnknown'],
    async cause({ prometheus, targets }) {
      await prometheus.scrape({ ...targets, 'integration-api': [] })
      return () => prometheus.scrape(targets)
    },
  },
  { alerts: ['IntegrationFenced'], rows: ['Postgres was restored'], cause: databaseRestored },
  { alerts: ['IntegrationReadOnly'], rows: ['Postgres takes no writes'], cause: postgresReadOnly },
]
