import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { insertRevokedSigningKey } from '#shared/revocation/state.ts'
import { redisKeys } from '#shared/stores/redis-keys.ts'
import { REFUSAL_KINDS } from '#shared/usage/client-usage.ts'
import { newClientId, newServiceId } from '../../apps/api/accounts/new-ids.ts'
import { saveIssuerKeys } from '../../apps/api/workload/issuers.ts'
import { revokeService } from '../../infra/admin/services.ts'
import {
  assertionFields,
  byAssertion,
  createKeyClient,
  encode,
  type KeyClient,
  newKeyPair,
  signAssertion,
} from '../support/assertions.ts'
import {
  type AuthResponse,
  basic,
  type NewTestClient,
  startAuth,
  type TestAuth,
  type TestAuthOptions,
  type TestClient,
  tokenFields,
} from '../support/auth.ts'
import { createTestClock, stoppedTime } from '../support/clock.ts'
import { eventually } from '../support/eventually.ts'
import { API_RESOURCE, ISSUER } from '../support/issuer.ts'
import { testOperator } from '../support/operator.ts'
import { createPlaceholders, writeAnswer } from '../support/placeholders.ts'
import { recordedTexts } from '../support/recorded.ts'
import { createTestDatabase, createTestRedis, type TestDatabase, type TestRedis } from '../support/servers.ts'
import { cutOffDatabase } from '../support/stores.ts'
import {
  createWorkload,
  platformToken,
  TEST_PLATFORMS,
  type TestPlatform,
  workloadFields,
} from '../support/workload-tokens.ts'
import ROWS from './answers.json' with { type: 'json' }

const NOW = '2026-01-31T09:00:00Z'
const NOW_S = Date.parse(NOW) / 1_000
const DAY_S = 86_400
const [TOKEN, REVOKE, INTROSPECT] = ['/v1/oauth/token', '/v1/oauth/revoke', '/v1/oauth/introspect'] as const
const FORM = { 'content-type': 'application/x-www-form-urlencoded' }
/** What a page of another origin sends. */
const FROM_PAGE = { origin: 'https://page.test', accept: 'text/html' }
const USAGE = ['client_usage', 'client_usage_by_minute', 'client_address_usage']

const COUNTED = /^integration_(?:tokens|oauth|rate|http_request_duration_seconds_count)/

/** Where a refusal gets its reason: in a call, as a result, or as one of two. */
const REASON = /(?:\b(?:invalid\w+|tooManyRequests|tryLater)\(\s*|return | [?:] )'([a-z]+(?:_[a-z]+)+)'/g

type Fields = Record<string, string | undefined>
/** What differs from what is granted. null: it is left out. Dates are in seconds from now. */
type Row = { claims?: object; header?: object; fields?: object }
type Stores = { database: TestDatabase; redis: TestRedis }
type Sent = { headers?: Record<string, string>; body?: string }
type Story = ReturnType<typeof startStory>

/** Asks a server, and keeps what was sent and answered, and what was logged meanwhile. */
function startStory(auth: TestAuth, asked: Set<string>) {
  const write = createPlaceholders()
  const clients: TestClient[] = []
  const steps: [what: string, text: string][] = []
  let read = 0
  function tell(what: string, lines: string[] = []): void {
    const logged = auth.logLines.slice(read).map((line) => {
      const { time: _, pid, hostname, ...rest } = JSON.parse(line)
      asked.add(rest.reason)
      return `+ ${JSON.stringify(rest)}`
    })
    read = auth.logLines.length
    steps.push([what, write([...lines, ...logged].join('\n'))])
  }
  tell('it starts')
  async function ask(what: string, route: string, init: Sent = {}) {
    // Each request is a second later, so that what is noted has an order.
    auth.clock.advance(1_000)
    const [method = '', path = ''] = route.split(' ')
    asked.add(route.split('?')[0] as string)
    const answer = await auth.request(method, path, init)
    const headers = Object.entries(init.headers ?? {}).filter(([, value]) => value !== FORM['content-type'])
    const fields = (init.body ?? '').slice(0, 2_000).split('&').filter(Boolean)
    const sent = headers.map(([name, value]) => `> ${name}: ${decode(value)}`)
    tell(`${what}: ${route}`, [...sent, ...fields.map(decode), ...writeAnswer(answer)])
    return answer
  }
  const post = (what: string, path: string, fields: Fields, headers = {}) => {
    const sent = Object.entries(fields).filter((field): field is [string, string] => field[1] !== undefined)
    const body = `${new URLSearchParams(sent)}`
    return ask(what, `POST ${path}`, { body, headers: { ...FORM, ...headers } })
  }
  const keep = <Client extends TestClient>(client: Client): Client => {
    clients.push(client)
    return client
  }
  return {
    ...{ auth, clients, steps, write, tell, ask, post, keep },
    client: async (given?: NewTestClient) => keep(await auth.createClient(given)),
    keyClient: async (given?: NewTestClient) => keep(await createKeyClient(auth, given)),
    /** Sends each of these, and keeps which of them have the same answer, and why each is refused. */
    async each<Sent>(what: string, all: Record<string, Sent>, send: (sent: Sent) => Promise<AuthResponse>) {
      const answers = new Map<string, string>()
      for (const [name, one] of Object.entries(all)) {
        const lines = writeAnswer(await send(one)).filter(
          (line) => !/^(?:x-request-id|ratelimit):/.test(line),
        )
        const logged = auth.logLines.slice(read).map((line) => JSON.parse(line).reason)
        read = auth.logLines.length
        const answer = lines.join('\n')
        answers.set(answer, `${answers.get(answer) ?? ''}- ${[name, ...logged.filter(Boolean)].join(': ')}\n`)
      }
      tell(
        what,
        [...answers].map(([answer, names]) => names + answer),
      )
    },
    token: (what: string, client: TestClient, fields: Fields = {}, headers = {}) =>
      post(what, TOKEN, { ...tokenFields(client), ...fields }, headers),
    /** Asks for a token by an assertion that differs from a valid one in these. */
    async assertion(what: string, client: KeyClient, claims: object = {}, header: object = {}) {
      const jwt = await signAssertion(client, auth.clock.now(), { ...claims }, { ...header })
      const { grant_type, scope } = tokenFields(client)
      return post(what, TOKEN, { grant_type, scope, ...assertionFields(jwt) })
    },
  }
}

const DATES = ['iat', 'nbf', 'exp']
/** The members of a part of a row, with clients in place of what they are called there. */
const membersOf = (part: object = {}, clients = new Map<unknown, string>()): Record<string, undefined> =>
  Object.fromEntries(
    Object.entries(part).map(([name, value]) => {
      const isDate = typeof value === 'number' && DATES.includes(name)
      return [name, isDate ? NOW_S + value : (clients.get(value) ?? value ?? undefined)]
    }),
  )

function decode(sent: string): string {
  const [, pair] = /^Basic (.+)$/.exec(sent) ?? []
  if (pair) return `Basic base64(${Buffer.from(pair, 'base64')})`
  return /%(?![\dA-F]{2})/.test(sent) ? sent : decodeURIComponent(sent)
}

/** Returns what the clients' companies can learn later: the latest requests, refusals and counts. */
async function readNoted({ database, redis }: Stores, clients: TestClient[]) {
  const db = database.connect('owner')
  const store = await redis.connect('admin')
  const lines = clients.map(async ({ clientId, vendorId }) => {
    const requests = await store.lrange(redisKeys.requests(vendorId, clientId), 0, -1)
    const refusals = REFUSAL_KINDS.map(async (kind) => {
      const positions = await store.zrange(redisKeys.refusals(kind, vendorId, clientId), 0, '-1')
      const keys = positions.map((position) => redisKeys.refusal(vendorId, position.split(' ')[1] as string))
      const records = keys.length > 0 ? await store.mget(keys) : []
      return records.map((record) => `${kind} ${record}`)
    })
    const counts = USAGE.map(async (table) => {
      const rows = await db(table).where({ client_id: clientId }).orderByRaw('2, 3')
      return rows.map((row) => `${table} ${JSON.stringify(row)}`)
    })
    return [...requests.toReversed(), ...(await Promise.all([...refusals, ...counts])).flat()]
  })
  return (await Promise.all(lines)).flat().join('\n')
}

describe('the authorization server', () => {
  const { assertRecorded } = recordedTexts(new URL('answers.txt', import.meta.url), [
    // A window began some time ago.
    [/(?<=;t=|;r=0;t=.*\n.*\nretry-after: )\d+$/gm, 'SECONDS'],
    // Whatever waits for a state asks for it.
    [/(?<=route="\/readyz".*) \d+$/gm, ' N'],
    // The table of keys is read in the background.
    [/^\+ .*"event":"signing_keys\.not_read".*\n?/gm, ''],
    // It may be seen how a connection breaks, before the next is refused.
    [/^\+ .*"event":"redis\.unusable".*(?:ECONNRESET|EPIPE|max retries).*\n?/gm, ''],
    // It depends on which counts were written together.
    [/(?<="longest_quiet_s":)(?:null|\d+)/g, 'N'],
    [/(?<=version(?:":|=)")[\d.]+/g, 'VERSION'],
    [/\b127\.0\.0\.1:\d+/g, '127.0.0.1:PORT'],
  ])
  const asked = new Set<string>()
  let routes: string[] = []

  /** Tells it with a server and a database of its own. */
  function story(name: string, options: TestAuthOptions, act: (story: Story) => Promise<void>): void {
    it(`answers, logs and records as written: ${name}`, async () => {
      await using database = await createTestDatabase()
      await using redis = await createTestRedis()
      const stores = { database, redis, clock: createTestClock(NOW) }
      const auth = await startAuth({ beside: stores, ...options })
      routes = auth.routes
      const told = startStory(auth, asked)
      // The stop writes what is noted.
      await act(told).finally(auth.stop)
      const metrics = await auth.metrics.registry.metrics()
      const noted = told.write(await readNoted(stores, told.clients))
      const counted = metrics.split('\n').filter((line) => COUNTED.test(line) && !line.endsWith(' 0'))
      for (const [what, step] of [...told.steps, ['noted', noted], ['counted', counted.join('\n')]] as const)
        assertRecorded(`${name}: ${what}`, step)
    })
  }

  story('tokens', {}, async ({ auth, client, keyClient, keep, token, assertion, post }) => {
    const acme = await client({ scopes: ['analytics:read', 'boost:read'] })
    await token('both scopes', acme, {}, FROM_PAGE)
    await token('one scope, and the API named', acme, { scope: 'boost:read', resource: `${API_RESOURCE}/` })
    const { client_id: id = '', client_secret: secret = '', ...fields } = tokenFields(acme)
    await post('HTTP Basic', TOKEN, fields, { authorization: basic(id, secret), 'x-request-id': 'my-own-id' })
    await token('a client that expires', await client({ expiresAt: new Date(Date.parse(NOW) + 3_600_678) }))
    const signed = await keyClient()
    await assertion('an assertion', signed)
    await assertion('an assertion for the token endpoint', signed, { aud: ISSUER + TOKEN, jti: 'a jti' })
    await assertion('the same again', signed, { jti: 'a jti' })
    for (const platform of ['GitHub Actions', 'Kubernetes']) {
      const workload = await createWorkload(auth, TEST_PLATFORMS[platform] as TestPlatform)
      keep(workload.client)
      const jwt = await platformToken(workload, auth.clock.now(), { jti: 'a jti' })
      await post(platform, TOKEN, workloadFields(workload, jwt))
      await post(`${platform} again`, TOKEN, workloadFields(workload, jwt))
    }
  })

  story('token requests that are not in order', {}, async ({ client, token, post, ask }) => {
    const acme = await client({ scopes: ['analytics:read', 'boost:read'] })
    const body = `${new URLSearchParams(tokenFields(acme))}`
    const { client_id: id = '', client_secret: secret = '', ...fields } = tokenFields(acme)
    await ask('a field in the query', `POST ${TOKEN}?a=1&scope=x`, { body, headers: FORM })
    await ask('no form', `POST ${TOKEN}`, { body, headers: { 'content-type': 'application/json' } })
    await ask('an encoded form', `POST ${TOKEN}`, { body, headers: { ...FORM, 'content-encoding': 'gzip' } })
    await ask('a malformed name', `POST ${TOKEN}`, { body: `%zz=1&${body}`, headers: FORM })
    await ask('a malformed value', `POST ${TOKEN}`, { body: `${body}&resource=%ff`, headers: FORM })
    await ask('a field twice', `POST ${TOKEN}`, { body: `${body}&scope=a`, headers: FORM })
    await ask('9 KiB', `POST ${TOKEN}`, { body: `${'&'.repeat(9_216)}`, headers: FORM })
    await ask('over a MiB', `POST ${TOKEN}`, { body: '&'.repeat(2 ** 20 + 1), headers: FORM })
    await token('no grant type', acme, { grant_type: undefined })
    await token('another grant type', acme, { grant_type: 'password' })
    await token('no scope', acme, { scope: undefined }, FROM_PAGE)
    const scope = 'boost:write nonsense catalog:write analytics:read'
    await token('scopes that it does not have', acme, { scope }, FROM_PAGE)
    await token('a scope twice', acme, { scope: 'boost:read boost:read' })
    await token('another resource', acme, { resource: 'https://other.test' })
    await post('malformed Basic', TOKEN, fields, { authorization: 'Basic !' })
    await post('Basic without a colon', TOKEN, fields, { authorization: `Basic ${btoa('x')}` })
    await post('another scheme', TOKEN, fields, { authorization: 'Bearer x' })
    const byBasic = { authorization: basic(id, secret) }
    await token('Basic and a secret', acme, {}, byBasic)
    await token('Basic, a secret and an assertion', acme, assertionFields('x'), byBasic)
    await token('a secret and an assertion', acme, assertionFields('x'))
    await post('two client ids', TOKEN, { ...fields, client_id: newClientId() }, byBasic)
    await post('no client', TOKEN, fields)
  })

  story('clients that are refused', {}, async ({ auth, client, keyClient, token, post, assertion }) => {
    const acme = await client()
    await token('a wrong secret', acme, { client_secret: 'wrong' }, FROM_PAGE)
    await token('no secret', acme, { client_secret: undefined })
    await token('an unknown client', { ...acme, clientId: newClientId() })
    await token('what is no client id', { ...acme, clientId: 'nobody' })
    await token('a client that has expired', await client({ expiresAt: new Date(Date.parse(NOW)) }))
    await token('before it is revoked', acme)
    await auth.markRevoked(acme)
    await token('revoked since its record was read', acme)
    const gone = await client()
    await auth.markRevoked(gone)
    await token('revoked', gone)
    await post('the same at the other endpoint', REVOKE, { ...tokenFields(gone), token: 'x' })
    const signed = await keyClient()
    await token('a secret in place of an assertion', signed)
    const secretClient = { ...(await client()), keys: signed.keys }
    await assertion('an assertion in place of a secret', secretClient)
    await assertion('of an unknown client', signed, { iss: 'x', sub: 'x' })
    await assertion('by another key', { ...signed, keys: newKeyPair() })
    await assertion('another algorithm', { ...signed, keys: newKeyPair('RSA') }, {}, { alg: 'RS256' })
    await assertion('another type', signed, {}, { typ: 'at+jwt' })
    await post('no JWT', TOKEN, { ...tokenFields(signed), client_secret: undefined, ...assertionFields('x') })
    await assertion('of another issuer', signed, { iss: acme.clientId })
    await assertion('for another audience', signed, { aud: [ISSUER, 'x'] })
    await assertion('without exp', signed, { exp: undefined })
    await assertion('an iat that is text', signed, { iat: '1' })
    await assertion('from the future', signed, { iat: NOW_S + 540, exp: NOW_S + 600 })
    await assertion('expired', signed, { iat: NOW_S - 560, exp: NOW_S - 500 })
    await assertion('too far ahead', signed, { exp: NOW_S + DAY_S })
    await assertion('without jti', signed, { jti: undefined })
  })

  story('workloads that are refused', {}, async ({ auth, keep, post }) => {
    const workload = await createWorkload(auth, TEST_PLATFORMS['GitHub Actions'] as TestPlatform)
    const { vendorId } = keep(workload.client)
    const keys = [workload.jwk, { ...newKeyPair('RSA').jwk, kid: 'another' }]
    const issuer = { vendorId, issuer: workload.platform.issuer }
    await saveIssuerKeys(auth.db, issuer, { keys, keysFrom: 'issuer', keysAsOf: new Date(NOW) })
    const refuse = async (what: string, claims: object, header: object = {}, signer = workload) => {
      const jwt = await platformToken(signer, auth.clock.now(), { jti: 'a jti', ...claims }, { ...header })
      await post(what, TOKEN, workloadFields(workload, jwt))
    }
    await refuse('another value', { environment: `\u202E\u2028\u2029${'x'.repeat(200)}` })
    await refuse('no value', { environment: undefined })
    await refuse('a number', { repository_id: 1_296_269 })
    await refuse('another issuer', { iss: 'https://other.example' })
    await refuse('another audience', { aud: 'https://other.example' })
    await refuse('an unknown key', {}, { kid: 'k2' })
    await refuse('no kid, though two keys have its alg', {}, { kid: undefined })
    await refuse('a wrong key', {}, {}, { ...workload, keys: newKeyPair('RSA') })
    await refuse('two hours', { iat: NOW_S, exp: NOW_S + 7_200 })
    await refuse('no iat', { iat: undefined })
    auth.clock.advance((DAY_S + 1) * 1_000)
    await refuse('old keys', {})
    await saveIssuerKeys(auth.db, issuer, { keys, keysFrom: 'issuer', keysAsOf: new Date(auth.clock.now()) })
    await refuse('keys that were fetched since', {})
  })

  story('what differs in one thing', {}, async ({ auth, each }) => {
    const withSecret = await auth.createClient({ scopes: ['analytics:read', 'boost:read'] })
    const [signed, other] = [await createKeyClient(auth), await createKeyClient(auth)]
    const twin = await auth.createClient({ publicKey: signed.keys.jwk })
    const workload = await createWorkload(auth, TEST_PLATFORMS['GitHub Actions'] as TestPlatform)
    const ids = new Map<unknown, string>(
      Object.entries({ SELF: signed, OTHER: other, TWIN: twin, SECRET: withSecret }).map(
        ([name, { clientId }]) => [name, clientId],
      ),
    ).set('UNKNOWN', newClientId())
    const send = (fields: Fields, row: Row) => {
      const sent = Object.entries({ ...fields, ...membersOf(row.fields, ids) })
      const pairs = sent.flatMap(([name, value]) => [value ?? []].flat().map((one) => [name, one]))
      return auth.request('POST', TOKEN, { body: `${new URLSearchParams(pairs)}`, headers: FORM })
    }
    await each('token requests', ROWS['token requests'], (row) => send(tokenFields(withSecret), row))
    await each('assertions', ROWS.assertions, async (row: Row) => {
      const [claims, header] = [membersOf(row.claims, ids), membersOf(row.header)]
      const { grant_type, scope } = tokenFields(signed)
      const jwt = await signAssertion(signed, auth.clock.now(), claims, header)
      return send({ grant_type, scope, ...assertionFields(jwt) }, row)
    })
    await each('tokens of workloads', ROWS['tokens of workloads'], async (row: Row) => {
      const [claims, header] = [membersOf(row.claims, ids), membersOf(row.header)]
      return send(workloadFields(workload, await platformToken(workload, NOW_S * 1_000, claims, header)), row)
    })
  })

  story('introspection and revocation', { trusted: true }, async ({ auth, client, token, post, ask }) => {
    const acme = await client()
    const other = await client()
    const service = await auth.createService()
    const { access_token: jwt } = (await token('a token', acme)).json
    await post('live', INTROSPECT, { ...service, token: jwt })
    const { client_id, client_secret, ...bare } = { ...service, token: jwt }
    const hinted = { ...bare, token_type_hint: 'refresh_token' }
    await post('live, by Basic', INTROSPECT, hinted, { authorization: basic(client_id, client_secret) })
    await post('no token', INTROSPECT, { ...service, token: 'x' })
    await post('no token field', INTROSPECT, service)
    await post('a wrong secret', INTROSPECT, { ...bare, client_id, client_secret: 'wrong' })
    await post('an unknown service', INTROSPECT, { ...bare, client_id: newServiceId(), client_secret })
    await post('a secret for an id', INTROSPECT, { ...bare, client_id: client_secret, client_secret })
    for (const path of [TOKEN, REVOKE])
      await post('a service', path, { ...tokenFields(acme), ...service, token: jwt })
    await post('a client', INTROSPECT, { ...tokenFields(acme), token: jwt })
    await post("another client's token", REVOKE, { ...tokenFields(other), token: jwt })
    await post('still live', INTROSPECT, { ...service, token: jwt })
    await post('no token', REVOKE, { ...tokenFields(acme), token: 'x' })
    await post('no token field', REVOKE, tokenFields(acme))
    await post('its own token', REVOKE, { ...tokenFields(acme), token: jwt })
    await post('its own token again', REVOKE, { ...hinted, ...tokenFields(acme) })
    await post('revoked', INTROSPECT, { ...service, token: jwt })
    const { access_token: later } = (await token('another token', acme)).json
    auth.clock.advance(901_000)
    await post('expired', INTROSPECT, { ...service, token: later })
    await revokeService(auth.db, { serviceId: client_id, by: testOperator() })
    await post('a revoked service', INTROSPECT, { ...service, token: later })
    await auth.markRevoked(other)
    const [kid] = await auth.db('signing_keys').whereNotNull('activates_at').pluck('kid')
    await insertRevokedSigningKey(auth.db, kid)
    using _ = stoppedTime()
    const { headers } = await ask('what is revoked', 'GET /v1/oauth/revocations')
    await ask('without a body', 'HEAD /v1/oauth/revocations')
    const condition = { headers: { 'if-none-match': headers.get('etag') ?? '' } }
    await ask('if it has changed', 'GET /v1/oauth/revocations', condition)
    await ask('if it is another', 'GET /v1/oauth/revocations', { headers: { 'if-match': '"other"' } })
  })

  story('documents and health', {}, async ({ auth, ask, each }) => {
    for (const route of auth.routes.filter((name) => /^GET(?!.*revocations$)/.test(name))) {
      const { headers } = await ask('its document', route)
      await ask('without a body', route.replace('GET', 'HEAD'))
      const etag = headers.get('etag')
      if (!etag) continue
      const weak = `"other", W/${etag}`
      const conditions = [
        ...[weak, '*', '"other"', etag.slice(1, -1), `"x${etag.slice(1)}`].map((tag) => [
          'if-none-match',
          tag,
        ]),
        ...[`"other", ${etag}`, '*', '"other"', `W/${etag}`].map((tag) => ['if-match', tag]),
      ] as [string, string][]
      const named = conditions.map(([name, tag]) => {
        const beside = name === 'if-match' ? `, and if-none-match: ${weak}` : ''
        return [`${name}: ${tag}${beside}`.replaceAll(etag.slice(1, -1), 'TAG'), [name, tag]] as const
      })
      await each(`conditions: ${route}`, Object.fromEntries(named), ([name, tag]) =>
        auth.request('GET', route.slice(4), { headers: { 'if-none-match': weak, [name]: tag } }),
      )
    }
    const paths = [...new Set(auth.routes.map((route) => route.split(' ')[1]))]
    const methods = ['GET', 'HEAD', 'POST', 'DELETE', 'OPTIONS']
    const others = paths
      .flatMap((path) => methods.map((method) => `${method} ${path}`))
      .filter((route) => !auth.routes.includes(route))
    const headers = { 'access-control-request-method': 'POST', ...FROM_PAGE }
    await each(
      'other methods',
      Object.fromEntries(others.map((route) => [route, route.split(' ')])),
      (route) => auth.request(route[0] ?? '', route[1] ?? '', { headers }),
    )
    await ask('another path', 'GET /nowhere?a=1')
  })

  const few = [1, 2, 3]
  const rates = {
    RATE_TOKEN_PER_CLIENT: '2/60',
    RATE_TOKEN_REVOCATIONS_PER_CLIENT: '4/60',
    RATE_TOKEN_REVOCATIONS_PER_COMPANY: '1/60',
    RATE_ASSERTIONS_PER_COMPANY: '2/60',
    RATE_INTROSPECTIONS_PER_SERVICE: '2/60',
    RATE_TOKEN_FAILURES_PER_ADDRESS: '2/60',
  }
  story(
    'rates, behind a proxy',
    { trusted: true, env: { ...rates, TRUSTED_PROXIES: '127.0.0.1' } },
    async ({ auth, client, keyClient, token, post }) => {
      const acme = await client()
      const ids = { 'x-request-id': 'by-the-proxy', 'x-caller-request-id': 'own' }
      const from = { 'x-forwarded-for': '192.0.2.1', ...ids }
      const trace = { ...from, traceparent: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01` }
      for (const time of few) await token(`token ${time}`, acme, {}, time === 1 ? trace : {})
      for (const time of few) await token(`failure ${time}`, acme, { client_secret: 'wrong' }, from)
      const signed = await keyClient()
      for (const time of few)
        await post(`assertion ${time}`, REVOKE, { token: 'x', ...(await byAssertion(auth, signed)) }, from)
      const service = await auth.createService()
      for (const time of few) await post(`junk ${time}`, INTROSPECT, { ...service, token: 'x' })
      const other = await client()
      for (const what of ['a token', 'another']) {
        const { access_token: jwt } = (await token(what, other)).json
        await post(`${what} is revoked`, REVOKE, { ...tokenFields(other), token: jwt })
      }
      await post('no proxy', REVOKE, { token: 'x' }, { forwarded: 'for=192.0.2.1' })
      for (const time of few) await post(`no token ${time}`, REVOKE, { ...tokenFields(other), token: 'x' })
    },
  )

  const ahead = async () => Date.parse(NOW) + 600_000
  story(
    'a clock that is wrong',
    { stores: { postgres: ahead, redis: ahead } },
    async ({ auth, client, keyClient, token, post, ask, assertion }) => {
      const acme = await client()
      await token('a token', acme)
      await token('a wrong secret', acme, { client_secret: 'wrong' })
      await token('a client that has expired', await client({ expiresAt: new Date(NOW) }))
      await assertion('an assertion that has expired', await keyClient(), { exp: 1 })
      await ask('it waits for the clock', 'GET /readyz')
      await token('a client that expires', await client({ expiresAt: new Date(Date.parse(NOW) + 3_600_000) }))
      await post('an assertion', REVOKE, { token: 'x', ...(await byAssertion(auth, await keyClient())) })
      await post('introspection', INTROSPECT, { ...(await auth.createService()), token: 'x' })
      await ask('revocations', 'GET /v1/oauth/revocations')
    },
  )

  story('stores that fail', {}, async ({ auth, client, token, post, ask }) => {
    const [acme, unseen, service] = [await client(), await client(), await auth.createService()]
    const { access_token: jwt } = (await token('a token', acme)).json
    for (const [what, code] of Object.entries({ 'no room': 'PAGE1', 'no disk': '53100' })) {
      await auth.db.raw(`create or replace function leave_room_on_page() returns trigger language plpgsql as
        'begin raise exception using errcode = ''${code}'', message = ''${what}''; end'`)
      await post(what, REVOKE, { ...tokenFields(acme), token: jwt })
    }
    await auth.redis.stop('SIGKILL')
    await eventually(() => auth.logLines.some((line) => line.includes('ECONNREFUSED')))
    await ask('without Redis', 'GET /readyz')
    await token('without Redis', acme)
    const restore = await cutOffDatabase(auth.database)
    await token('without any store', acme)
    await token('its record is not read', unseen)
    await post('revocation', REVOKE, { ...tokenFields(acme), token: jwt })
    await post('introspection', INTROSPECT, { ...service, token: jwt })
    await ask('revocations', 'GET /v1/oauth/revocations')
    await ask('keys', 'HEAD /v1/oauth/jwks')
    await restore()
    await auth.redis.start()
    await eventually(async () => !('degraded' in (await auth.request('GET', '/readyz')).json))
  })

  story('before it is ready', { unready: true }, async ({ auth, client, token, ask, post }) => {
    await token('a token', await client())
    const { client_id, ...service } = await auth.createService()
    const jwt = `${encode({ alg: 'ES256', kid: 'k1' })}.e30.AA`
    await post('introspection', INTROSPECT, { client_id, ...service, token: jwt })
    await ask('what it waits for', 'GET /readyz')
    await ask('keys', 'GET /v1/oauth/jwks')
    await ask('health', 'GET /healthz')
    await ask('metadata', 'HEAD /.well-known/oauth-authorization-server')
  })

  it('answers as written: hostile HTTP', async () => {
    await using auth = await startAuth()
    const write = createPlaceholders()
    const answers = [
      'hello\r\n\r\n',
      'GET /healthz HTTP/1.1\r\n\r\n',
      'GET /healthz HTTP/1.1\r\nHost: a b\r\n\r\n',
      'GET healthz HTTP/1.1\r\nHost: x\r\n\r\n',
      'GET http://x/healthz HTTP/1.1\r\nHost: y\r\nConnection: close\r\n\r\n',
      'CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n',
      'GET /healthz HTTP/1.1\r\nHost: x\r\nExpect: x\r\n\r\n',
      `GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\nX: ${'x'.repeat(9_000)}\r\n\r\n`,
      'POST /healthz HTTP/1.1\r\nHost: x\r\nContent-Type: a\r\nContent-Type: b\r\n\r\n',
    ].map(async (bytes) => {
      const { hostname, port } = new URL(auth.url)
      const socket = connect(Number(port), hostname)
      socket.write(bytes)
      const answer = (await text(socket)).replaceAll('\r', '').replace(/^Date: .*\n/m, '')
      return `> ${bytes.slice(0, 99).trim()}\n< ${answer}`
    })
    assertRecorded('hostile HTTP', write((await Promise.all(answers)).join('\n\n')))
  })

  it('is asked for each of its routes', () => {
    const missing = routes.filter((route) => !asked.has(route))
    assert.deepEqual(missing, [])
  })

  it('refuses for each of its reasons', () => {
    const sources = globSync('apps/auth/*.ts').map((file) => readFileSync(file, 'utf8'))
    const given = sources.flatMap((source) => [...source.matchAll(REASON)]).map(([, reason = '']) => reason)
    assert.ok(given.length > 50)
    assert.deepEqual(
      given.filter((reason) => !asked.has(reason)),
      [],
    )
  })
})
