import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { exportJWK, generateKeyPair, type JWTPayload, SignJWT } from 'jose'
import Provider from 'oidc-provider'
// @ts-expect-error: it has no types.
import { createMemoryAdapter } from 'oidc-provider/lib/adapters/memory_adapter.js'
import { drain, listen } from '#shared/process/http-server.ts'

export const OPENID_CLIENT = { id: 'workspace', secret: 'the secret of the workspace at its provider' }

type Answer = (request: IncomingMessage, response: ServerResponse) => void

export type TestOpenidProvider = Awaited<ReturnType<typeof startOpenidProvider>>

/** A real OpenID provider on loopback, where the person named by `signInAs` signs in without a screen. */
export async function startOpenidProvider({ redirectUris }: { redirectUris: string[] }) {
  const people = new Map<string, Record<string, unknown>>()
  const requestPaths: string[] = []
  const answers = new Map<string, Answer>()
  const { origin } = new URL(redirectUris[0] ?? '')
  let subject: string | undefined
  const { privateKey } = await generateKeyPair('ES256', { extractable: true })

  const server = createServer((request, response) => {
    const path = (request.url ?? '').split('?', 1)[0] as string
    requestPaths.push(path)
    const answer = answers.get(path)
    answers.delete(path)
    if (answer) return answer(request, response)
    if (path.startsWith('/interaction/')) return void interact(request, response)
    void provider.callback()(request, response)
  })
  const issuer = `http://127.0.0.1:${await listen(server, { host: '127.0.0.1', port: 0 })}`

  async function interact(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const refusal = { error: 'access_denied', error_description: '<b>no</b>' }
    if (subject === undefined) return provider.interactionFinished(request, response, refusal)
    const { params } = await provider.interactionDetails(request, response)
    const grant = new provider.Grant({ accountId: subject, clientId: String(params.client_id) })
    grant.addOIDCScope(String(params.scope))
    const granted = { login: { accountId: subject }, consent: { grantId: await grant.save() } }
    await provider.interactionFinished(request, response, granted)
  }

  const provider: Provider = new Provider(issuer, {
    // The same as by default, which prints a warning.
    adapter: createMemoryAdapter(),
    clients: [
      {
        client_id: OPENID_CLIENT.id,
        client_secret: OPENID_CLIENT.secret,
        redirect_uris: redirectUris,
        response_types: ['code'],
        grant_types: ['authorization_code'],
        id_token_signed_response_alg: 'ES256',
        post_logout_redirect_uris: [`${origin}/`],
      },
    ],
    jwks: { keys: [{ ...(await exportJWK(privateKey)), kid: 'own', alg: 'ES256', use: 'sig' }] },
    cookies: { keys: ['a key of the tests'] },
    claims: {
      openid: ['sub'],
      email: ['email', 'email_verified'],
      profile: ['name'],
      company: ['org', 'groups'],
    },
    scopes: ['openid', 'company'],
    pkce: { required: () => true },
    features: {
      devInteractions: { enabled: false },
      rpInitiatedLogout: {
        // Without the default page's fonts from elsewhere.
        logoutSource(ctx, form) {
          ctx.body = `<!doctype html><title>Sign out</title>${form}
            <button form="op.logoutForm" name="logout" value="yes">Yes, sign me out</button>`
        },
      },
    },
    interactions: { url: (_ctx, interaction) => `/interaction/${interaction.uid}` },
    findAccount: (_ctx, sub) => ({ accountId: sub, claims: () => ({ sub, ...people.get(sub) }) }),
    ttl: { Interaction: 600, Session: 600, Grant: 600, AccessToken: 600, IdToken: 600 },
  })

  /** Sends a request as a browser with these cookies does. */
  async function ask(url: URL, cookies: Map<string, string>, init: RequestInit = {}): Promise<Response> {
    const response = await fetch(url, {
      ...init,
      redirect: 'manual',
      headers: { cookie: [...cookies].map((pair) => pair.join('=')).join('; ') },
    })
    for (const cookie of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(cookie) ?? []
      cookies.set(name, value)
    }
    return response
  }

  return {
    issuer,
    /** What it says about each person, by subject. */
    people,
    asked: requestPaths,
    /** Who signs in from now on. Undefined: the person refuses. */
    signInAs(next: string | undefined) {
      subject = next
    },
    /** What the next request to this path gets in place of the provider's own answer. */
    answerNext: (path: string, answer: Answer) => void answers.set(path, answer),
    /** Returns an ID token signed with the provider's own key, unless another is given. */
    idToken: (
      claims: JWTPayload,
      header: { alg?: string; kid?: string; typ?: string } = {},
      key: CryptoKey = privateKey,
    ) => new SignJWT(claims).setProtectedHeader({ alg: 'ES256', kid: 'own', ...header }).sign(key),
    /** Walks through the provider as a browser with these cookies. Returns where it is sent at the end. */
    async visit(authorizationUrl: string, cookies = new Map<string, string>()) {
      let url = new URL(authorizationUrl)
      while (url.origin === issuer) {
        const response = await ask(url, cookies)
        const location = response.headers.get('location')
        if (location === null) throw new Error(`the provider: ${response.status} ${await response.text()}`)
        url = new URL(location, url)
      }
      return url
    },
    /** Signs out at the provider in that browser. Returns where it is sent then. */
    async signOut(signOutUrl: string, cookies: Map<string, string>) {
      const page = await (await ask(new URL(signOutUrl), cookies)).text()
      const [, action = '', xsrf = ''] = /action="([^"]+)".*name="xsrf" value="([^"]+)"/s.exec(page) ?? []
      const body = new URLSearchParams({ xsrf, logout: 'yes' })
      const response = await ask(new URL(action, issuer), cookies, { method: 'POST', body })
      return new URL(response.headers.get('location') ?? '', issuer)
    },
    [Symbol.asyncDispose]: () => drain(server, 100),
  }
}
