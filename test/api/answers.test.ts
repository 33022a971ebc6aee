import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import type { Redis } from 'ioredis'
import type { AnsweredRequest } from '#shared/usage/client-usage.ts'
import { noticeExpiringClients } from '../../apps/api/clients/notice-expiring-clients.ts'
import { noticeFailingClients } from '../../apps/api/clients/notice-failing-clients.ts'
import type { Resolution } from '../../apps/api/guarded-fetch/resolver.ts'
import type { NoticeNeeds } from '../../apps/api/mail/outbox.ts'
import { PROBLEMS } from '../../apps/api/problems/problems.ts'
import { noticeQuietClients } from '../../apps/api/rotation/notice-quiet-clients.ts'
import { ROUTES } from '../../apps/api/routes.ts'
import { noticeFailingIssuers } from '../../apps/api/workload/notice-failing-issuers.ts'
import { type ApiResponse, startApi, type TestApi } from '../support/api.ts'
import { newKeyPair } from '../support/assertions.ts'
import { forBlock } from '../support/block.ts'
import { sharedUsage } from '../support/client-usage.ts'
import { eventually } from '../support/eventually.ts'
import { loggedEvents } from '../support/log.ts'
import { answering, type Receiver, startTcpReceiver, startTlsReceiver } from '../support/receivers.ts'
import { recordedTexts } from '../support/recorded.ts'
import { startSmtp } from '../support/smtp.ts'
import { cutOffDatabase } from '../support/stores.ts'
import { startWorkloadIssuer } from '../support/workload-issuer.ts'
import { createStory } from './answers-story.ts'
import { createResolution, TEST_INTERNET } from './callbacks/sending.ts'
import { sharedOpenidSignIns } from './openid-sign-ins.ts'

/*
 * answers.stories.txt has a line for each request: who asks (a person, a client, a token, or - for no one),
 * method, path (the company's, unless it begins by /), body and header fields. Names as client-1 are those of
 * answers.txt. A line that begins by ! is an action of below.
 */
const STORIES = readFileSync(new URL('answers.stories.txt', import.meta.url), 'utf8')
const LINE = /^(\S+) ([A-Z]+) (\S+)(?: ([[{"].*?))?((?: \| [\w-]+: [^|]+)*)$/
const NOW = '2026-03-10T09:30:00.000Z'
const SETTINGS = {
  MAIL_FROM: 'Integrations <mail@service.example>',
  SECURITY_CONTACT: 'mailto:a@acme.example',
}
/** Each is exceeded by the second request, or soon. */
const LIMITS = {
  RATE_API_PER_CLIENT: '3/3600',
  RATE_API_EVENTS_PER_CLIENT: '3/3600',
  RATE_SIGN_IN_PER_ACCOUNT: '1/3600',
  RATE_PASSWORD_RESET_PER_ACCOUNT: '1/3600',
  RATE_SESSION_GUESSES_PER_ADDRESS: '1/3600',
  RATE_API_PER_SESSION: '5/3600',
  RATE_CHANGES_PER_COMPANY: '5/3600',
  RATE_INVITATION_MAILS_PER_COMPANY: '1/3600',
  RATE_CLIENT_CREATIONS_PER_COMPANY: '1/3600',
  RATE_FOUND_SECRETS_PER_ADDRESS: '1/3600',
  RATE_CALLBACK_TEST_PER_COMPANY: '1/3600',
}
const NOTICES: Record<string, (needs: NoticeNeeds & { redis: Redis }) => Promise<void>> = {
  expiring: noticeExpiringClients,
  failing: noticeFailingClients,
  issuers: noticeFailingIssuers,
  quiet: noticeQuietClients,
}
/** Of proxies in front, of slow senders, of two requests at once, and of 200 people. */
const UNREACHED = 'request_timeout idempotency_in_progress people_limit_reached bad_gateway gateway_timeout'

const { assertRecorded } = recordedTexts(new URL('answers.txt', import.meta.url), [])

describe('what the API answers, logs and mails', () => {
  const smtp = forBlock(() => startSmtp({ tls: 'none', login: 'none' }))
  let resolution: Resolution = createResolution('127.0.0.1')
  const internet = { ...TEST_INTERNET, resolve: async () => resolution }
  const start = (env: object) =>
    startApi({ startsAt: NOW, internet, env: { SMTP_URL: smtp.url, ...SETTINGS, ...env } })
  const openid = sharedOpenidSignIns()
  const apis: Record<string, TestApi> = {
    '': forBlock(() => start({})),
    limited: forBlock(() => start(LIMITS)),
    openid: openid.api,
  }
  const usages = Object.fromEntries(Object.entries(apis).map(([name, api]) => [name, sharedUsage(api)]))
  before(async () => {
    for (const api of Object.values(apis))
      await eventually(() => loggedEvents(api, 'redis.trusted').length > 0)
  })
  let mailsRecorded = 0
  const answered = new Set<unknown>()
  function note({ event, method, route, status, problem }: Record<string, unknown>) {
    if (event === 'request.answered') answered.add(`${method} ${route} ${status}`).add(problem)
  }

  for (const [title = '', ...lines] of STORIES.split(/^## /m)
    .slice(1)
    .map((text) => text.trim().split('\n')))
    it(`are recorded: ${title}`, async () => {
      const [, at = ''] = title.split(' @')
      const api = apis[at] as TestApi
      api.clock.set(at === 'openid' ? Date.now() : NOW)
      await using world = await createWorld(api, at)
      for (const line of lines) await world.run(world.resolve(line))
      world.addLog()
      assertRecorded(title, world.text())
    })

  it('are every mail, so that none is taken for one of a later story', async () => {
    const mails = await Promise.all(Object.values(apis).map(({ db }) => db('mails').whereNotNull('user_id')))
    assert.equal(mails.flat().length, mailsRecorded)
  })

  it('are those of every route', () => {
    const expected = ROUTES.flatMap(({ method, path, answers }) =>
      Object.keys(answers).map((status) => `${method.toUpperCase()} ${path} ${status}`),
    )
    for (const answer of expected) assert.ok(answered.has(answer), answer)
  })

  it('explain each reason that the authorization server records', () => {
    const recorded = readFileSync(new URL('../auth/answers.txt', import.meta.url), 'utf8')
    const reasons = Array.from(recorded.matchAll(/^\w+ \{.*"reason":"(\w+)"/gm), ([, reason = '']) => reason)
    assert.ok(reasons.length > 30)
    for (const reason of reasons)
      assert.ok(new RegExp(`^! refused \\S+ ${reason}\\b`, 'm').test(STORIES), reason)
  })

  it('are every problem that one caller can meet', () => {
    const others = Object.keys(PROBLEMS).filter((code) => !answered.has(code))
    assert.equal(others.join(' '), UNREACHED)
  })

  async function createWorld(api: TestApi, at: string) {
    const owner = await api.createOwner()
    const { vendorId } = owner
    const story = createStory(api, note)
    const stack = new AsyncDisposableStack()
    const tokens: Record<string, string> = { owner: owner.sessionToken, nonsense: 'x' }
    const found: Record<string, string> = {}
    let last: ApiResponse | undefined
    let receiver: Receiver | undefined
    let records = 0
    story.name(`${vendorId} ${owner.userId}`)
    const usage = usages[at] as (typeof usages)['']
    const redis = await api.redis.connect('api')
    const listRefused = await api.createPerson({ vendorId, role: 'viewer' })
    const route = 'POST /v1/oauth/token'
    const record = (clientId: string, more: Pick<AnsweredRequest, 'status' | 'reason' | 'about' | 'code'>) =>
      usage.answered({
        ...{ clientId, vendorId, address: '198.51.100.9', route, requestId: `request-${1_000 + ++records}` },
        ...{ proven: more.reason !== 'wrong_secret', ...more },
      })

    const actions: Record<string, (rest: string, words: string[]) => unknown> = {
      at: (time) => api.clock.set(time),
      about: (what) => story.add(`\n(${what})`),
      async mail(address) {
        story.addMail(await smtp.mailTo(address.toLowerCase()))
        mailsRecorded += 1
        await story.logged('mail.sent')
      },
      logged: (event) => story.logged(event),
      async person(_, [name = '', role, status = 'active']) {
        const person = await (role
          ? api.createPerson({ vendorId, role: role as 'admin', status: status as 'active' })
          : api.createOwner())
        story.name(person.vendorId)
        tokens[name] = person.sessionToken
      },
      async token(_, [name = '', clientId = '', scope = '', changes = '{}']) {
        tokens[name] = await api.issuer.token({ clientId, vendorId, scope }, JSON.parse(changes))
        story.name(tokens[name])
        story.add(`\n(${name}: ${scope} ${changes})`)
      },
      async client(json) {
        const dated = (name: string, value: unknown) => (/At$/.test(name) ? new Date(String(value)) : value)
        story.name((await owner.createClient(JSON.parse(json, dated))).clientId)
      },
      async clients(count) {
        for (let left = Number(count); left > 0; left -= 1) await owner.createClient()
      },
      async issuer() {
        story.name(stack.use(await startWorkloadIssuer([{ ...newKeyPair().jwk, kid: 'own' }])).issuer)
      },
      issued: (_, [clientId = '', scope = 'analytics:read', address = '192.0.2.1', times = '1']) =>
        usage.issued(clientId, { scope, address, times: Number(times) }),
      async refused(_, [clientIds = '', reason, ...about]) {
        const refusal = { status: 401, code: 'invalid_client', reason, about: about.join(' ') || undefined }
        for (const clientId of clientIds.split(',')) await record(clientId, refusal)
      },
      granted: (clientId) => record(clientId, { status: 200 }),
      'until-refused': (clientId) =>
        story.until(async () => {
          const { json } = await listRefused.request('GET', `refusals?clientId=${clientId}`)
          return json.refusals.length > 0
        }),
      resolves(address) {
        resolution = address
          ? createResolution(address)
          : { addresses: [], complete: false, failure: 'no_answer' }
      },
      async receiver(json) {
        const answer = JSON.parse(json)
        receiver = stack.use(
          answer === null
            ? await startTcpReceiver((socket) => void socket.end('no TLS'))
            : await startTlsReceiver({ talk: answer ? answering(answer) : (socket) => void socket.end() }),
        )
        story.name(receiver.url)
      },
      received: () => story.add(receiver?.received ?? ''),
      sql: (statement) => api.db.raw(statement.replaceAll('?', '\\?')),
      rows: async (statement) => story.add(JSON.stringify((await api.db.raw(statement)).rows)),
      async notice(name) {
        await NOTICES[name]?.({ db: api.apiDb, redis, clock: api.clock, isEnding: () => false })
      },
      async 'cut-off'() {
        stack.defer(await cutOffDatabase(api.database))
        await story.until(async () => (await api.request('GET', '/readyz')).status === 503)
      },
      async provider(claims) {
        const authorizationUrl = new URL(last?.json.authorizationUrl)
        const subject = openid.person(JSON.parse(claims))
        const back = await openid.atProvider({ authorizationUrl, cookie: '' }, subject)
        for (const [name, value] of back.searchParams) found[name.toUpperCase()] = encodeURIComponent(value)
      },
    }
    return {
      ...story,
      resolve: (line: string) =>
        story.resolve(line).replaceAll(/\b(?:NEXT|REQUEST|CODE|STATE|ISS)\b/g, (name) => found[name] ?? name),
      async run(line: string): Promise<void> {
        const [, action = '', rest = ''] = /^! (\S+) ?(.*)$/.exec(line) ?? []
        if (action) return void (await (actions[action] ?? assert.fail(line))(rest, rest.split(' ')))
        const [, caller = '', method = '', target = '', body, fields = ''] =
          LINE.exec(line) ?? assert.fail(line)
        const headers = Object.fromEntries(
          fields
            .split(' | ')
            .slice(1)
            .map((field) => field.split(/: (.*)/)),
        )
        const token = caller === '-' ? undefined : (tokens[caller] ?? caller)
        const path = target.startsWith('/') ? target : `/v1/vendor/${vendorId}/${target}`
        last = await story.ask(caller, method, path, {
          headers,
          ...(token !== undefined && { token }),
          ...(body !== undefined && { body: JSON.parse(body) }),
        })
        found.NEXT = last.json?.nextCursor ?? found.NEXT
        found.REQUEST = last.status === 403 ? (last.headers.get('x-request-id') ?? '') : (found.REQUEST ?? '')
      },
      [Symbol.asyncDispose]: () => stack.disposeAsync(),
    }
  }
})
