import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Log } from '#shared/process/log.ts'
import { insertRevokedSigningKey } from '#shared/revocation/state.ts'
import { PRODUCTION_TIMINGS } from '#shared/revocation/timings.ts'
import { TOKEN_MAX_MS } from '../../apps/api/revocation/restore-check.ts'
import type { Step } from '../../apps/api/revocation/round.ts'
import { startReconciling } from '../../apps/api/revocation/start-reconciling.ts'
import { afterwards, forEachTest } from '../support/block.ts'
import { eventually } from '../support/eventually.ts'
import { createTestLog } from '../support/log.ts'
import { FAST, restartEmpty, sharedStores } from '../support/revocation.ts'

describe('reconciling all the time', () => {
  const stores = sharedStores()
  let log: Log
  let lines: Record<string, unknown>[]
  const api = forEachTest(() => stores.start('api'))

  beforeEach(() => {
    ;({ log, lines } = createTestLog())
  })
  afterEach(() => {
    for (const { event } of lines) assert.ok(event, JSON.stringify(lines))
  })

  const until = (condition: () => boolean | Promise<boolean>) =>
    eventually(condition, { every_ms: 10, otherwise: () => JSON.stringify(lines) })
  const isTrusted = async () => (await api.ask({ clientId: 'cli_x' })) === 'live by redis'
  const start = (options: Partial<Parameters<typeof startReconciling>[0]> = {}) =>
    startReconciling({ redis: api.redis, db: api.db, timings: FAST, log, ...options })

  it('runs one round at a time until it is stopped, and stopping waits for the round', async () => {
    let running = 0
    let most = 0
    let ended = 0
    const onStep = async (now: Step) => {
      if (now === 'begin') running += 1
      most = Math.max(most, running)
      await sleep(150)
      if (now === 'read') {
        running -= 1
        ended += 1
      }
    }
    const reconciling = start({ onStep })
    await until(() => ended === 2)
    await until(() => running === 1)
    await reconciling.stop()
    assert.deepEqual([most, running, ended], [1, 0, 3])
    await sleep(3 * FAST.round_ms)
    assert.equal(ended, 3)
  })

  it('reports a failure once, and its end once', async () => {
    const reconciling = start()
    await until(isTrusted)
    await stores.server.stop('SIGKILL')
    await sleep(5 * FAST.round_ms)
    await restartEmpty(stores.server)
    await until(isTrusted)
    await reconciling.stop()
    const events = lines.map(({ event }) => event)
    assert.equal(events.filter((event) => event === 'redis.trusted').length, 2)
    assert.ok(events.includes('redis.new') && events.includes('redis.not_trusted'))
    const warnings = lines.filter(({ level }) => Number(level) >= 40).map(({ reason }) => reason)
    assert.ok(warnings.length >= 1, 'no warning')
    assert.deepEqual(warnings, [...new Set(warnings)])
  })

  it('logs each revoked client and signing key once, however many rounds read it', async () => {
    const [clientId, kid] = [await stores.newClient(), await stores.newKey()]
    await stores.markRevoked(clientId)
    await insertRevokedSigningKey(stores.db, kid)
    const steps: Step[] = []
    const reconciling = start({ onStep: (step) => void steps.push(step) })
    await until(() => steps.filter((step) => step === 'read').length > 3)
    await reconciling.stop()
    const events = lines.map((line) => `${line.event} ${line.clientId ?? line.kid}`)
    const ofThese = events.filter((text) => text.endsWith(clientId) || text.endsWith(kid))
    assert.deepEqual(ofThese, [`client.revoked ${clientId}`, `signing_key.revoked ${kid}`])
  })

  it('purges the revocations of tokens that expired long ago', async () => {
    const clientId = await stores.newClient()
    await stores.db.raw(
      `insert into revoked_tokens select 'long-' || n, ?, now(), now() - interval '2 hours' from generate_series(1, 1500) n`,
      [clientId],
    )
    // The first purge is due at once, and the next in an hour unless the first left some.
    const { random } = Math
    Math.random = () => 0
    const reconciling = start({ purgeEvery_ms: 3_600_000 })
    Math.random = random
    await until(async () => {
      const { rows } = await stores.db.raw("select count(*) as n from revoked_tokens where jti like 'long-%'")
      return rows[0].n === 0
    })
    await reconciling.stop()
  })

  it('logs a purge that fails, and goes on with its rounds', async () => {
    await stores.db.raw('revoke execute on function purge_expired_revoked_tokens from integration_api')
    const steps: Step[] = []
    const reconciling = start({ onStep: (step) => void steps.push(step), purgeEvery_ms: 0 })
    await using _ = afterwards(async () => {
      await reconciling.stop()
      await stores.db.raw('grant execute on function purge_expired_revoked_tokens to integration_api')
    })
    await until(() => steps.filter((step) => step === 'mark').length > 2)
    const failures = lines.map(({ event, what }) => `${event}: ${what}`)
    assert.ok(failures.includes('housekeeping.failed: purging revoked_tokens'))
  })

  it('warns of each promotion of a standby, not only of the first', async () => {
    const promotions = () => lines.filter(({ event }) => event === 'database.promoted').length
    const reconciling = start()
    await using _ = afterwards(() => reconciling.stop())
    await until(isTrusted)
    for (const times of [1, 2]) {
      await until(() => reconciling.latest()?.outcome === 'marked')
      await stores.promote()
      await until(() => promotions() === times)
      await until(stores.isFollowed)
    }
  })

  it('has production timings that each leave room for the others', () => {
    const { lease_ms, settle_ms, commit_ms, entry_ms, lookBack_ms, nonce_ms, round_ms, tick_ms, ...others } =
      PRODUCTION_TIMINGS
    const { refill_ms, compare_ms } = others
    for (const [what, [less, more]] of Object.entries({
      'clocks that run apart by a fifth': [1.2 * lease_ms, settle_ms],
      'a lease that is renewed in time, though rounds vary by a fifth': [3 * 1.2 * round_ms, lease_ms],
      'a tick within each lease': [3 * tick_ms, lease_ms],
      'a commit before nobody believes an older marker': [commit_ms, settle_ms],
      'an entry that outlives every token': [TOKEN_MAX_MS, entry_ms],
      'entries that are sent again before they end': [2 * refill_ms, entry_ms],
      'a look back that is longer than an entry lives': [entry_ms, lookBack_ms],
      'a comparison within the life of its nonce': [compare_ms + lease_ms, nonce_ms],
    } satisfies Record<string, [number, number]>))
      assert.ok(less <= more, `${what}: ${less} ms is more than ${more} ms`)
    assert.ok(TOKEN_MAX_MS >= (900 + 240) * 1_000)
    assert.deepEqual([lease_ms, settle_ms, entry_ms], [5_000, 6_000, 3_600_000])
  })
})
