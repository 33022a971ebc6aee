import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { readStandings } from '#shared/revocation/state.ts'
import { redisKeys } from '#shared/stores/redis-keys.ts'
import { migrate } from '../../infra/database/migrate.ts'
import { refused, runAdmin, succeeded } from '../support/admin.ts'
import { sharedApi, TEST_PASSWORD } from '../support/api.ts'
import { sharedAuth, type TestClient } from '../support/auth.ts'
import { forBlock } from '../support/block.ts'
import { eventually } from '../support/eventually.ts'
import type { TestKey } from '../support/issuer.ts'
import { assertProblem } from '../support/problem.ts'
import { asAdmin } from '../support/revocation.ts'
import { cutOffDatabase, fromBeside } from '../support/stores.ts'

const TOKENS_IN_LOGS =
  /A token whose revocation only a log line proves can be accepted again for up to 19 minutes/

describe('admin restore', () => {
  const api = sharedApi()
  const auth = sharedAuth({ beside: api })
  let vendorId: string
  let sessionToken: string
  let kept: TestClient

  before(async () => {
    vendorId = (await api.createCompany()).vendorId
    sessionToken = (await api.createPerson({ vendorId, role: 'owner' })).sessionToken
    kept = await auth.createClient({ vendorId })
  })
  after(() => sql(`drop database if exists ${name()}_before`, `drop database if exists ${name()}_lost`))

  const name = () => new URL(api.database.ownerUrl).pathname.slice(1)
  const sql = (...statements: string[]) => fromBeside(api.database.ownerUrl, ...statements)
  /** A copy of the whole database, as a dump is. */
  async function dump(): Promise<Date> {
    const mend = await cutOffDatabase(api.database)
    await sql(`create database ${name()}_before template ${name()}`)
    await mend()
    return new Date()
  }
  /** As the runbook says: the data, then the migration. Redis has been emptied meanwhile. */
  async function restore(): Promise<void> {
    await cutOffDatabase(api.database)
    await asAdmin(api.redis, (redis) => redis.flushall())
    await sql(
      `alter database ${name()} rename to ${name()}_lost`,
      `alter database ${name()}_before rename to ${name()}`,
    )
    await migrate({ ownerUrl: api.database.ownerUrl })
  }

  const operate = (args: string[], user: 'api' | 'auth' = 'api') =>
    runAdmin(args, { env: { DATABASE_URL: api.database.operatorUrl, REDIS_URL: api.redis.url(user) } })
  const admin = (...args: string[]) => operate(['restore', ...args])
  /** Long enough ago that the command need not wait for what Redis vouched for. */
  const fencedLongAgo = () => api.db.raw(`update restore_fences set raised_at = raised_at - interval '6 s'`)
  const tokenStatus = async (client: TestClient) => (await auth.token(client)).status
  const readyz = async () => (await api.request('GET', '/readyz')).status
  const sessionStatus = async (token: string) => (await api.request('GET', '/v1/session', { token })).status
  const readStatus = async ({ clientId }: TestClient, options: { key?: TestKey } = {}) => {
    const token = await api.issuer.token({ clientId, vendorId }, options)
    return (await api.request('GET', `/v1/analytics/${vendorId}/daily`, { token })).status
  }
  const until = (holds: () => Promise<boolean>) => eventually(holds, { every_ms: 50 })
  async function revoke({ clientId }: TestClient): Promise<void> {
    const path = `/v1/vendor/${vendorId}/oauth-clients/${clientId}/revoke`
    assert.equal((await api.request('POST', path, { token: sessionToken })).status, 200)
  }

  describe('after an older dump was restored, with an empty Redis', () => {
    let since: Date
    let revoked: TestClient
    let stolen: TestKey
    let invitation: string

    const preview = () => api.request('POST', '/v1/invitation/preview', { body: { token: invitation } })

    before(async () => {
      revoked = await auth.createClient({ vendorId })
      stolen = await api.issuer.newKey('stolen')
      api.issuer.published.push(stolen.publicJwk)
      await api.db.raw(
        `insert into signing_keys select ?, alg, public_jwk, private_key_encrypted, created_at, 'epoch'
         from signing_keys limit 1`,
        [stolen.kid],
      )
      const body = { name: 'Kim', email: 'withdrawn@people.example', role: 'member' }
      const people = `/v1/vendor/${vendorId}/people`
      const invited = await api.request('POST', people, { token: sessionToken, body })
      invitation = invited.json.invitationUrl.split('#')[1]
      await api.db.raw(
        `insert into password_resets select sha256('a'), user_id, now(), 'infinity' from users limit 1`,
      )
      since = await dump()
      await until(async () => (await readyz()) === 200)
      assert.deepEqual([await readStatus(kept, { key: stolen }), (await preview()).status], [200, 200])
      await api.request('DELETE', `${people}/${invited.json.userId}`, { token: sessionToken })
      await succeeded(operate(['key', 'revoke', stolen.kid, '--yes']))
      assert.deepEqual([await readStatus(kept, { key: stolen }), (await preview()).status], [401, 404])
      await revoke(revoked)
      assert.deepEqual([await tokenStatus(kept), await tokenStatus(revoked)], [200, 401])
      await restore()
    })

    it('refuses all access after an older dump was restored', async () => {
      const end = performance.now() + 2_000
      const seen = { kept: new Set<number>(), revoked: new Set<number>() }
      for (; performance.now() < end; await sleep(20))
        for (const statusOf of [tokenStatus, readStatus]) {
          seen.kept.add(await statusOf(kept))
          seen.revoked.add(await statusOf(revoked))
        }
      // A process that has read the record of a revoked client need not ask.
      seen.revoked.delete(401)
      assert.deepEqual(seen, { kept: new Set([503]), revoked: new Set([503]) })
      assert.equal(await sessionStatus(sessionToken), 503)
      const { status, json } = await api.request('GET', '/readyz')
      assert.deepEqual([status, json.waitingFor], [503, ['an operator: the database was restored']])
      assert.ok(api.logLines.some((line) => line.includes('"event":"database.restored"')))
    })

    it('says what an unreadable Redis leaves unproven', async () => {
      await fencedLongAgo()
      const args = ['restore', 'fence', '--since', since.toISOString(), '--json', '--yes']
      const { json, stderr } = await operate(args, 'auth')
      assert.ok(json, stderr)
      const [redis = '', rest = '', tokens = '', ...more] = json.unproven
      assert.match(redis, /^Redis could not be read, so it proves nothing: .*NOPERM.*[^.]\.$/)
      assert.match(rest, /^Everything else is as it was .* Repeat what the logs prove/)
      assert.match(tokens, TOKENS_IN_LOGS)
      assert.deepEqual([json.revoked, more], [{ clients: [], keys: [], tokens: [] }, []])
    })

    it('has an operator revoke again what only the logs prove, while all access is refused', async () => {
      await fencedLongAgo()
      await succeeded(operate(['client', 'revoke', vendorId, revoked.clientId, '--yes']))
      await succeeded(operate(['key', 'revoke', stolen.kid, '--yes']))
      assert.equal(await tokenStatus(kept), 503)
    })

    it('allows everyone else once the operator confirms', async () => {
      await api.db.raw(`update restore_fences set raised_at = now() - interval '3 s'`)
      const { stdout, stderr } = await succeeded(admin('confirm'))
      // Until then a process may trust what Redis vouched for before the fence.
      assert.match(stderr, /^Waiting [1-3] s until every process has noticed the fence$/m)
      assert.match(stdout, TOKENS_IN_LOGS)
      assert.deepEqual([await tokenStatus(kept), await tokenStatus(revoked)], [200, 401])
      assert.deepEqual([await readStatus(kept), await readStatus(revoked)], [200, 401])
      assert.equal(await readStatus(kept, { key: stolen }), 401)
      assert.equal(await sessionStatus(sessionToken), 401)
      assertProblem(await preview(), 'invitation_not_valid')
      assert.deepEqual(await api.db('password_resets'), [])
      assert.equal(await readyz(), 200)
      assert.equal((await admin('status')).stdout, 'There is no fence. Access is not blocked.\n')
    })
  })

  describe('after a snapshot of the disk was restored, which looks like the same database', () => {
    let revoked: TestClient

    before(async () => {
      revoked = await auth.createClient({ vendorId })
      sessionToken = (await api.createPerson({ vendorId, role: 'admin' })).sessionToken
      await revoke(revoked)
      await until(async () => {
        const seen = await asAdmin(api.redis, (redis) => redis.get('revocation:seen'))
        return seen?.endsWith(revoked.clientId) ?? false
      })
      await api.db.transaction(async (transaction) => {
        await transaction.raw('set local session_replication_role = replica')
        await transaction.raw(
          `update oauth_clients set status = 'Active', revoked_at = null, revoked_by = null where client_id = ?`,
          [revoked.clientId],
        )
      })
    })

    it('refuses all access when Redis knows a revocation that the database lost', async () => {
      await until(async () => (await readyz()) === 503)
      const { stdout } = await admin('status')
      assert.ok(stdout.includes(`the database has forgotten the revocation of ${revoked.clientId}`), stdout)
      await until(async () => (await tokenStatus(kept)) === 503)
    })

    it('revokes again what Redis proves, and says what it does not', async () => {
      await fencedLongAgo()
      const [kid, jti] = [randomUUID(), randomUUID()]
      await api.db.raw(
        `insert into signing_keys select ?, alg, public_jwk, private_key_encrypted, now() from signing_keys limit 1`,
        [kid],
      )
      await asAdmin(api.redis, (redis) => redis.mset(`revoked:key:${kid}`, '1', `revoked:token:${jti}`, '1'))
      const { stdout } = await succeeded(admin('fence', '--since', new Date().toISOString(), '--yes'))
      for (const row of [
        `client +${revoked.clientId} +${vendorId}, A client`,
        `key +${kid}`,
        `token +${jti}`,
      ])
        assert.match(stdout, new RegExp(row))
      assert.match(stdout, /^- Redis remembers a revocation for an hour/m)
      const again = await admin('fence', '--since', new Date().toISOString(), '--json', '--yes')
      assert.deepEqual(again.json.revoked, { clients: [], keys: [], tokens: [] })
      // Postgres's clock was ahead at the earlier confirmation. Rounds change nothing while the fence is up.
      await asAdmin(api.redis, async (redis) => {
        const seen = (await redis.get('revocation:seen')) ?? ''
        await redis.set('revocation:seen', seen.replace(/^\d+/, String(Date.now() + 3_600_000)))
      })
      await admin('confirm')
      const { rows } = await api.db.raw('select confirmed_at > now() as dated_after from revocation_trust')
      assert.deepEqual(rows, [{ dated_after: true }])
      const asked = [{ clientId: kept.clientId, jti }, { clientId: kept.clientId, kid }, kept]
      assert.deepEqual(await readStandings(api.db, asked), [{ revoked: 'token' }, { revoked: 'key' }, 'live'])
      await until(async () => (await tokenStatus(kept)) === 200)
      assert.equal(await tokenStatus(revoked), 401)
    })
  })

  describe('before any service has raised a fence for a copy', () => {
    const admitted = forBlock(() => api.createOwner())
    let invitation: string

    before(async () => {
      invitation = await admitted.invite('kim@people.example')
      await api.db.raw('revoke insert (reason) on restore_fences from integration_api')
      await api.db.raw(`update revocation_trust set place = '7/1/1/00000001'`)
    })
    after(async () => {
      await api.db.raw('update revocation_trust set place = database_place()')
      // A round that read the other place may still be about to raise a fence. Rounds follow one another, so
      // one that marks Redis again shows that it has ended.
      await asAdmin(api.redis, async (redis) => {
        await redis.del(redisKeys.revocationMarker)
        await until(async () => (await redis.exists(redisKeys.revocationMarker)) === 1)
      })
      await api.db.raw('grant insert (reason) on restore_fences to integration_api')
    })

    it('refuses sessions and passwords before a fence is raised, and is not ready', async () => {
      assert.equal(await readyz(), 503)
      const body = { email: admitted.email, password: TEST_PASSWORD }
      assert.equal((await api.request('POST', '/v1/session', { body })).status, 503)
      assert.equal(await sessionStatus(admitted.sessionToken), 503)
    })

    it('accepts no invitation, nor shows one', async () => {
      const body = { token: invitation, password: 'correct horse battery' }
      assert.equal((await api.request('POST', '/v1/invitation', { body })).status, 503)
      const preview = { body: { token: invitation } }
      assert.equal((await api.request('POST', '/v1/invitation/preview', preview)).status, 503)
    })
  })

  describe('while a promoted standby is compared with Redis', () => {
    const place = (sql: string) => api.db.raw(`update revocation_trust set place = ${sql}`)
    before(async () => {
      // Without this, the comparison of so few entries would end at once.
      await api.db.raw('revoke update (place) on revocation_trust from integration_api')
      await place(`regexp_replace(database_place(), '[^/]*$', '00000000')`)
    })
    after(async () => {
      await place('database_place()')
      await api.db.raw('grant update (place) on revocation_trust to integration_api')
    })

    it('asks no operator for anything', async () => {
      const { status, json } = await api.request('GET', '/readyz')
      const compared = 'the comparison of the database with Redis: see the log of the API'
      assert.deepEqual([status, json.waitingFor], [503, [compared]])
      const { stdout } = await admin('status')
      assert.match(
        stdout,
        /^There is no fence, .* not yet been compared .*\nThe services compare it on their own\./,
      )
      await until(async () => api.logLines.some((line) => line.includes('"event":"database.promoted"')))
    })

    it('refuses "restore confirm", which would skip the comparison', async () => {
      await refused(admin('confirm'), /^Nothing was confirmed: .* "restore fence" first/)
      const { rows } = await api.db.raw('select place = database_place() as confirmed from revocation_trust')
      assert.deepEqual(rows, [{ confirmed: false }])
    })
  })

  it('names what Redis answers if "restore confirm" may not read it', async () => {
    const { stdout } = await operate(['restore', 'confirm'], 'auth')
    assert.match(stdout, /^Redis could not be read: .*NOPERM/m)
    const REDIS_URL = api.redis.url('auth').replace(/:[^:@]*@/, ':wrong@')
    const env = { DATABASE_URL: api.database.operatorUrl, REDIS_URL }
    assert.match((await runAdmin(['restore', 'confirm'], { env })).stdout, / or user is disabled\. If /)
  })
})
