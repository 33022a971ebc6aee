import assert from 'node:assert/strict'
import { TOTAL_TIMEOUT_MS } from '../../apps/api/callbacks/sender.ts'
import type { Resolution } from '../../apps/api/guarded-fetch/resolver.ts'
import { type ApiRequest, freshOwner, sharedApi, startApi, type TestApi } from '../support/api.ts'
import { eventually } from '../support/eventually.ts'
import { assertProblem } from '../support/problem.ts'
import { answering, type Receiver, startTlsReceiver } from '../support/receivers.ts'
import { createResolution, TEST_INTERNET } from './callbacks/sending.ts'

const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n'

describe('POST /v1/vendor/{vendor_id}/callback-test', () => {
  let resolution: Resolution
  const internet = { ...TEST_INTERNET, resolve: async () => resolution }
  const receivers: Receiver[] = []
  after(() => Promise.all(receivers.map((receiver) => receiver.stop())))
  const api = sharedApi({ internet, env: { RATE_CALLBACK_TEST_PER_COMPANY: '5/60' } })
  const owner = freshOwner(api)
  beforeEach(() => {
    resolution = createResolution('127.0.0.1')
  })

  const test = (at = api, request: ApiRequest = {}) =>
    owner.request('POST', 'callback-test', { at, ...request })
  async function saved(starting: Promise<Receiver>): Promise<Receiver> {
    const receiver = await starting
    receivers.push(receiver)
    const answer = await owner.request('PATCH', 'callback-url', { body: { callbackUrl: receiver.url } })
    assert.equal(answer.status, 200, answer.text)
    return receiver
  }
  const silent = () => startTlsReceiver({ talk: () => {} })
  /** The receiver hangs up without an answer. */
  const hangUp = (receiver: Receiver) => {
    for (const socket of receiver.open) socket.destroy()
  }
  /** Sets the end of the lease of the company's test. */
  const hold = (seconds: number) =>
    api.db.raw(
      'update callback_destinations set test_until = clock_timestamp() + make_interval(secs => ?) where vendor_id = ?',
      [seconds, owner.vendorId],
    )
  const leases = async () =>
    (await api.db.raw('select test_until from callback_destinations where vendor_id = ?', [owner.vendorId]))
      .rows

  it('tests the saved destination, whatever the body says', async () => {
    const receiver = await saved(startTlsReceiver({ talk: answering(OK) }))
    for (const body of [{ callbackUrl: 'https://127.0.0.2/' }, '{', 'x'.repeat(100_000)])
      assert.equal((await test(api, { body })).json.url, receiver.url)
    assert.equal(receiver.connections, 3)
  })

  describe('one at a time', () => {
    it('refuses a second test during the first, at every process', async () => {
      await using beside = await startApi({ beside: api, internet })
      const receiver = await saved(silent())
      const startedAt_ms = Date.now()
      const first = test()
      await eventually(() => receiver.received.includes('sentAt'))
      // A lease that ends before the test would let a second one start.
      assert.ok(Number((await leases())[0].test_until) >= startedAt_ms + TOTAL_TIMEOUT_MS)
      assertProblem(await test(), 'test_in_progress')
      assertProblem(await test(beside), 'test_in_progress')
      hangUp(receiver)
      assert.equal((await first).json.outcome, 'unconfirmed')
      assert.equal(receiver.connections, 1)
    })

    it('starts exactly one of many simultaneous tests', async () => {
      const receiver = await saved(
        startTlsReceiver({ talk: (socket) => void setTimeout(() => socket.end(OK), 500) }),
      )
      const answers = await Promise.all([test(), test(), test(), test(), test()])
      assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 409, 409, 409, 409])
      assert.equal(receiver.connections, 1)
    })

    it('allows another test after a process died during one', async () => {
      const receiver = await saved(startTlsReceiver({ talk: answering(OK) }))
      await hold(15)
      assertProblem(await test(), 'test_in_progress')
      await hold(-0.001)
      assert.equal((await test()).status, 200)
      assert.equal(receiver.connections, 1)
    })

    it('ignores the late end of a test whose lease expired', async () => {
      const receiver = await saved(silent())
      const first = test()
      await eventually(() => receiver.received.includes('sentAt'))
      await hold(14)
      const [later] = await leases()
      hangUp(receiver)
      assert.equal((await first).json.outcome, 'unconfirmed')
      assert.deepEqual(await leases(), [later])
      assertProblem(await test(), 'test_in_progress')
    })

    it('allows the URL to change during a test, for the next one', async () => {
      const old = await saved(silent())
      const first = test()
      await eventually(() => old.connections === 1)
      const next = await saved(startTlsReceiver({ talk: answering(OK) }))
      hangUp(old)
      assert.equal((await first).json.url, old.url)
      assert.equal((await test()).json.url, next.url)
    })
  })

  /** Whether the newest test was ended here, rather than by the receiver's silence. */
  const isStopped = ({ logLines }: TestApi): boolean =>
    logLines.findLast((line) => line.includes('"callback.tested"'))?.includes('"failure":"stopped"') ?? false

  it('ends the send when the caller goes away, and allows the next one', async () => {
    const receiver = await saved(silent())
    const path = `/v1/vendor/${owner.vendorId}/callback-test`
    const headers = { authorization: `Bearer ${owner.sessionToken}` }
    const caller = new AbortController()
    const calling = fetch(api.url + path, { method: 'POST', headers, signal: caller.signal })
    await eventually(() => receiver.received.includes('sentAt'))
    caller.abort()
    await assert.rejects(calling, { name: 'AbortError' })
    await eventually(() => receiver.open.size === 0)
    await eventually(() => isStopped(api))
    await eventually(async () => (await leases())[0].test_until === null)
    assert.ok(!api.logLines.some((line) => line.includes('request failed') && line.includes(path)))
  })

  it('answers 503 to a caller that waits while the service stops, and leaves no connection', async () => {
    const beside = await startApi({ beside: api, internet })
    const receiver = await saved(silent())
    const waiting = test(beside).catch(() => ({ status: 'cut' }))
    await eventually(() => receiver.received.includes('sentAt'))
    await beside.stop()
    assert.equal(receiver.open.size, 0)
    assert.ok(isStopped(beside))
    assert.ok([503, 'cut'].includes((await waiting).status))
    assert.deepEqual(await leases(), [{ test_until: null }])
  })
})
