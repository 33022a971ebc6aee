import assert from 'node:assert/strict'
import { type ApiResponse, sharedApi, type TestApi } from '../support/api.ts'
import { forBlock } from '../support/block.ts'
import { loggedEvents } from '../support/log.ts'
import { OPENID_CLIENT, startOpenidProvider } from '../support/openid-provider.ts'

export const CALLBACK = '/v1/session/openid/callback'
export const PAGE = 'https://api.test'
/** The header field that a page of the workspace sends. */
export const OWN = { origin: PAGE }

/** A sign-in that has begun, as the browser knows it. */
export type PendingSignIn = { authorizationUrl: URL; cookie: string }

/**
 * A provider, and an API where its people sign in to ven_acme, ven_globex and ven_full, not to ven_initech.
 */
export function sharedOpenidSignIns() {
  const env = {
    OPENID_ISSUER: '',
    OPENID_CLIENT_ID: OPENID_CLIENT.id,
    OPENID_CLIENT_SECRET: OPENID_CLIENT.secret,
    OPENID_COMPANIES: 'acme.example=ven_acme,ven_globex,gone.example=ven_gone,full.example=ven_full',
    OPENID_COMPANY_CLAIM: 'org',
    OPENID_ROLE_CLAIM: 'groups',
    OPENID_ROLES: 'integration admins=admin,viewer,member',
    OPENID_SCOPE: 'openid email profile company',
    OPENID_LINK_BY_EMAIL: 'on',
    OPENID_NAME: 'Acme ID',
    RATE_SIGN_IN_PER_ADDRESS: '10000/60',
  }
  const provider = forBlock(() => startOpenidProvider({ redirectUris: [PAGE + CALLBACK] }))
  before(() => {
    env.OPENID_ISSUER = provider.issuer
  })
  const api = sharedApi({ env })
  // The provider dates its tokens by the real time, and what is two minutes ahead is refused.
  const showRealTime = () => api.clock.set(Date.now())
  before(showRealTime)
  beforeEach(showRealTime)
  before(async () => {
    for (const vendorId of ['ven_acme', 'ven_globex', 'ven_full', 'ven_initech'])
      await api.createCompany({ vendorId })
  })
  const secrets = new Set<string>([OPENID_CLIENT.secret])
  const keepSecret = (text: string | null | undefined) => void (text && secrets.add(text))
  let people = 0

  /** Begins a sign-in, as a browser does. */
  async function begin(to = '/', at = api): Promise<PendingSignIn> {
    const response = await at.request('POST', '/v1/session/openid', { body: { to }, headers: OWN })
    assert.equal(response.status, 201, response.text)
    const authorizationUrl = new URL(response.json.authorizationUrl)
    for (const name of ['state', 'nonce']) keepSecret(authorizationUrl.searchParams.get(name))
    return { authorizationUrl, cookie: readCookie(response, '__Host-openid') ?? '' }
  }

  /** Signs the person in at the provider. Returns where that sends the browser. */
  async function atProvider(
    { authorizationUrl }: PendingSignIn,
    subject: string,
    cookies?: Map<string, string>,
  ) {
    provider.signInAs(subject)
    const back = await provider.visit(authorizationUrl.href, cookies)
    keepSecret(back.searchParams.get('code'))
    return back
  }

  const finish = (back: URL, cookie?: string, at = api): Promise<ApiResponse> =>
    at.request('GET', back.pathname + back.search, { headers: cookie ? { cookie } : {} })

  /** Returns the subject of a new person at the provider, by default in ven_acme. */
  function person(claims: Record<string, unknown> = {}): string {
    const subject = `subject-${++people}`
    const defaults = { org: 'acme.example', groups: 'member', email: `${subject}@acme.example` }
    provider.people.set(subject, { name: `Person ${people}`, ...defaults, email_verified: true, ...claims })
    return subject
  }

  return {
    api,
    provider,
    /** The API's settings. */
    env,
    person,
    begin,
    /** Signs a new person in at the provider, to the point where the browser is sent back. */
    async approve(to?: string) {
      const { authorizationUrl, cookie } = await begin(to)
      return { back: await atProvider({ authorizationUrl, cookie }, person()), cookie }
    },
    atProvider,
    finish,
    /** Begins a sign-in, signs in at the provider and finishes it. */
    async signIn(
      subject: string,
      { to = '/', at = api, cookies }: { to?: string; at?: TestApi; cookies?: Map<string, string> } = {},
    ): Promise<ApiResponse> {
      const signIn = await begin(to, at)
      return finish(await atProvider(signIn, subject, cookies), signIn.cookie, at)
    },
    /** Returns the answer of GET /v1/session in the browser that was signed in. */
    async sessionOf(response: ApiResponse, page = '/') {
      assertOutcome(response, 'done', page)
      const cookie = readCookie(response, '__Host-session') ?? ''
      keepSecret(cookie.split('=')[1])
      const read = await api.request('GET', '/v1/session', { headers: { cookie } })
      assert.equal(read.status, 200)
      return read.json
    },
    /**
     * Asserts that no line of the API's log has a secret of these sign-ins, or text that the provider wrote.
     */
    assertNothingLogged(): void {
      assert.ok(secrets.size > 30)
      for (const line of api.logLines) for (const secret of secrets) assert.ok(!line.includes(secret), line)
      const failed = loggedEvents(api, 'sign_in.failed')
      assert.ok(failed.length > 10)
      for (const { reason, about = '' } of failed) assert.match(`${reason}${about}`, /^[A-Za-z_]+$/)
    },
  }
}

/** Returns `name=value` of a cookie that the answer sets. */
export const readCookie = (response: ApiResponse, name: string): string | undefined =>
  response.headers
    .getSetCookie()
    .find((cookie) => cookie.startsWith(`${name}=`))
    ?.split(';', 1)[0]

/** Asserts where the browser is sent, and that it is signed in only if the outcome is `done`. */
export function assertOutcome(response: ApiResponse, outcome: string, page = '/', what = ''): void {
  assert.equal(response.status, 303, response.text)
  assert.equal(response.headers.get('location'), `${PAGE}${page}#sign-in=${outcome}`, what)
  assert.equal(response.headers.get('cache-control'), 'no-store')
  const attributes = 'Path=/; HttpOnly; SameSite=Lax; Secure'
  const cleared = response.headers.getSetCookie().includes(`__Host-openid=; Max-Age=0; ${attributes}`)
  assert.ok(cleared || outcome === 'expired')
  assert.equal(readCookie(response, '__Host-session') !== undefined, outcome === 'done')
}
