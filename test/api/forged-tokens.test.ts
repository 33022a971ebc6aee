import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { silentLog } from '#shared/process/log.ts'
import type { RateLimitPolicy } from '#shared/stores/rate-limit.ts'
import { createRedis, redisReady } from '#shared/stores/redis.ts'
import { createForgeryLimit } from '../../apps/api/access-tokens/forgery-limit.ts'
import { type ApiResponse, startApi, type TestApi } from '../support/api.ts'
import type { TestKey, TokenOptions } from '../support/issuer.ts'
import { assertProblem } from '../support/problem.ts'

const LIMITED = { RATE_API_FORGED_PER_ADDRESS: '3/60', TRUSTED_PROXIES: '127.0.0.1' }
const AS_OFTEN_AS_ALLOWED = [1, 2, 3]

interface Reader {
  /** Reads with a token that no process has met yet. */
  fresh(source: string, options?: TokenOptions, other?: TestApi): Promise<ApiResponse>
  forged(source: string, other?: TestApi): Promise<ApiResponse>
  read(source: string, token: string, other?: TestApi): Promise<ApiResponse>
  token(options?: TokenOptions): Promise<string>
}

async function createReader(api: TestApi): Promise<Reader> {
  const { vendorId } = await api.createCompany()
  const { clientId } = await api.createClient({ vendorId })
  const key: TestKey = await api.issuer.newKey(api.issuer.key.kid)
  const token = (options?: TokenOptions) => api.issuer.token({ clientId, vendorId }, options)
  const read = (source: string, token: string, other = api) =>
    other.request('GET', `/v1/analytics/${vendorId}/daily`, {
      token,
      headers: { 'x-forwarded-for': source },
    })
  return {
    token,
    read,
    fresh: async (source, options, other) => read(source, await token(options), other),
    forged: async (source, other) => read(source, await token({ key }), other),
  }
}

function assertLimited(response: ApiResponse): void {
  assertProblem(response, 'rate_limited')
  assert.match(response.json.detail, /wrong signature/)
  assert.equal(response.headers.get('ratelimit-policy'), '"api-forged";q=3;w=60')
  assert.match(response.headers.get('ratelimit') ?? '', /^"api-forged";r=0;t=\d+$/)
  const wait_s = Number(response.headers.get('retry-after'))
  assert.ok(wait_s >= 1 && wait_s <= 60, `Retry-After ${wait_s}`)
}

function assertWrongSignature(response: ApiResponse): void {
  assertProblem(response, 'invalid_token')
  assert.match(response.json.detail, /signature/)
}

for (const store of ['with Redis', 'without Redis']) {
  describe(`the limit of forged tokens from an address, ${store}`, () => {
    let api: TestApi
    let reader: Reader
    let source: string
    let sources = 0

    before(async () => {
      api = await startApi({ env: LIMITED })
      if (store === 'without Redis') await api.redis.stop('SIGKILL')
      reader = await createReader(api)
    })
    after(() => api.stop())
    beforeEach(() => {
      sources += 1
      source = `192.0.2.${sources}`
    })

    const reachLimit = async () => {
      for (const _ of AS_OFTEN_AS_ALLOWED) assertWrongSignature(await reader.forged(source))
      assertLimited(await reader.forged(source))
    }

    it('refuses, over it, what would have to be verified, and takes what it has met', async () => {
      const met = await reader.token()
      assert.equal((await reader.read(source, met)).status, 200)
      await reachLimit()
      assertLimited(await reader.fresh(source))
      assertLimited(await reader.forged(source))
      const again = await reader.read(source, met)
      assert.equal(again.status, 200)
      assert.match(again.headers.get('ratelimit-policy') ?? '', /^"api-client";/)
    })

    it('leaves other addresses alone', async () => {
      await reachLimit()
      assert.equal((await reader.fresh(`198.51.100.${sources}`)).status, 200)
      assertWrongSignature(await reader.forged(`198.51.100.${sources}`))
    })

    it('counts wrong signatures only', async () => {
      const now_s = Math.floor(api.clock.now() / 1_000)
      const refused: TokenOptions[] = [
        { claims: { exp: now_s } },
        { claims: { iat: now_s + 1_000 } },
        { claims: { nbf: now_s + 1_000 } },
        { claims: { iss: 'https://evil.test' } },
        { claims: { aud: 'https://other.test' } },
        { claims: { sub: 'someone-else' } },
        { claims: { vendor_id: 'ven_other' } },
        { claims: { scope: '' } },
        { header: { typ: 'JWT' } },
        { header: { kid: 'nobody' } },
      ]
      for (const options of refused) {
        const { status } = await reader.fresh(source, options)
        assert.ok(status === 401 || status === 403, `${JSON.stringify(options)}: ${status}`)
      }
      assertProblem(await reader.read(source, 'not.a.jwt'), 'invalid_token')
      for (const _ of AS_OFTEN_AS_ALLOWED) assertWrongSignature(await reader.forged(source))
    })

    it('refuses, over it, as always what need not be verified', async () => {
      const expired = await reader.token({ claims: { exp: 1 } })
      await reader.read(source, expired)
      await reachLimit()
      assertProblem(await reader.read(source, 'not.a.jwt'), 'invalid_token')
      assertProblem(await reader.fresh(source, { header: { typ: 'JWT' } }), 'invalid_token')
      assertProblem(await reader.fresh(source, { header: { kid: 'nobody' } }), 'invalid_token')
      assert.match((await reader.read(source, expired)).json.detail, /expired/)
    })

    it('counts an IPv6 address by its /64', async () => {
      for (const i of AS_OFTEN_AS_ALLOWED)
        assertWrongSignature(await reader.forged(`2001:db8:${sources}::${i}`))
      assertLimited(await reader.forged(`2001:db8:${sources}:0:ffff::1`))
      assertLimited(await reader.fresh(`2001:db8:${sources}::9`))
      assert.equal((await reader.fresh(`2001:db8:${sources}:1::1`)).status, 200)
    })
  })
}

describe('the limit of forged tokens from an address', () => {
  let api: TestApi
  let reader: Reader
  const start = async (env: Record<string, string>) => {
    api = await startApi({ env: { ...LIMITED, ...env } })
    reader = await createReader(api)
  }
  afterEach(() => api.stop())

  it('is 300 in 60 s', async () => {
    api = await startApi()
    reader = await createReader(api)
    const key = await api.issuer.newKey(api.issuer.key.kid)
    const token = await reader.token({ key })
    for (let times = 0; times < 300; times += 1) assertWrongSignature(await reader.read('', token))
    const refused = await reader.read('', token)
    assertProblem(refused, 'rate_limited')
    assert.equal(refused.headers.get('ratelimit-policy'), '"api-forged";q=300;w=60')
  })

  it('is not dodged by X-Forwarded-For of a peer that is not trusted', async () => {
    await start({ TRUSTED_PROXIES: '10.0.0.0/8' })
    for (const i of AS_OFTEN_AS_ALLOWED) assertWrongSignature(await reader.forged(`192.0.2.${i}`))
    assertLimited(await reader.forged('192.0.2.99'))
    assertLimited(await reader.fresh('192.0.2.100'))
  })

  it('asks Redis no more once it is known to be passed', async () => {
    await start({})
    for (const _ of [...AS_OFTEN_AS_ALLOWED, 4, 5, 6, 7]) await reader.forged('192.0.2.1')
    const redis = createRedis({ url: api.redis.url('admin'), connectionName: 'test' })
    await redisReady(redis)
    assert.equal(await redis.get('rate:api-forged:192.0.2.1'), '4')
    redis.disconnect()
  })

  it('is that of all processes together; another one learns of it by the next forged token', async () => {
    await start({})
    const second = await startApi({ beside: api, env: LIMITED })
    for (const _ of AS_OFTEN_AS_ALLOWED) await reader.forged('192.0.2.1')
    assert.equal((await reader.fresh('192.0.2.1', {}, second)).status, 200)
    assertLimited(await reader.forged('192.0.2.1', second))
    assertLimited(await reader.fresh('192.0.2.1', {}, second))
    await second.stop()
  })

  it('ends with its window', async () => {
    await start({ RATE_API_FORGED_PER_ADDRESS: '1/1' })
    await reader.forged('192.0.2.1')
    assertProblem(await reader.forged('192.0.2.1'), 'rate_limited')
    assertProblem(await reader.fresh('192.0.2.1'), 'rate_limited')
    await sleep(1_100)
    api.clock.advance(1_000)
    assert.equal((await reader.fresh('192.0.2.1')).status, 200)
    assertWrongSignature(await reader.forged('192.0.2.1'))
  })
})

describe('what a process knows of addresses over their limit', () => {
  const policy: RateLimitPolicy = { name: 'api-forged', limit: 1, window_s: 60 }
  let now_ms: number
  let counts: Map<string, number>
  beforeEach(() => {
    now_ms = 1_000_000
    counts = new Map()
  })
  const create = (remembered?: number) =>
    createForgeryLimit({
      log: silentLog(),
      clock: { now: () => now_ms },
      ...(remembered && { remembered }),
      rateLimit: {
        policy,
        async consume(subject) {
          const count = (counts.get(subject) ?? 0) + 1
          counts.set(subject, count)
          return { allowed: count <= policy.limit, policy, remaining: 0, reset_s: 30 }
        },
      },
    })

  it('begins with the count that is not allowed', async () => {
    const forgeries = create()
    await forgeries.count('192.0.2.1')
    assert.equal(forgeries.over('192.0.2.1'), undefined)
    assert.equal((await forgeries.count('192.0.2.1')).allowed, false)
    assert.equal(forgeries.over('192.0.2.1')?.allowed, false)
  })

  it('leaves an address one verification each 20 ms', async () => {
    const forgeries = create()
    const allowed = () => forgeries.over('192.0.2.1') === undefined
    for (const _ of [1, 2]) await forgeries.count('192.0.2.1')
    now_ms += 19
    assert.deepEqual([allowed(), allowed()], [false, false])
    now_ms += 1
    assert.deepEqual([allowed(), allowed()], [true, false])
    assert.equal((await forgeries.count('192.0.2.1')).allowed, false)
    now_ms += 500
    assert.deepEqual([allowed(), allowed()], [true, false])
  })

  it('tells how long the window still is, and ends with it', async () => {
    const forgeries = create()
    for (const _ of [1, 2]) await forgeries.count('192.0.2.1')
    assert.equal(forgeries.over('192.0.2.1')?.reset_s, 30)
    now_ms += 10_500
    forgeries.over('192.0.2.1')
    assert.equal(forgeries.over('192.0.2.1')?.reset_s, 20)
    now_ms += 19_499
    forgeries.over('192.0.2.1')
    assert.equal(forgeries.over('192.0.2.1')?.reset_s, 1)
    now_ms += 1
    for (const _ of [1, 2]) assert.equal(forgeries.over('192.0.2.1'), undefined)
  })

  it('ends when the clock is set back', async () => {
    const forgeries = create()
    for (const _ of [1, 2]) await forgeries.count('192.0.2.1')
    now_ms -= 1
    for (const _ of [1, 2]) assert.equal(forgeries.over('192.0.2.1'), undefined)
  })

  it('is bounded: the address that was over first is forgotten first', async () => {
    const forgeries = create(2)
    for (const address of ['192.0.2.1', '192.0.2.2', '192.0.2.3'])
      for (const _ of [1, 2]) await forgeries.count(address)
    assert.deepEqual(
      ['192.0.2.1', '192.0.2.2', '192.0.2.3'].map((address) => forgeries.over(address) !== undefined),
      [false, true, true],
    )
  })
})
