import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { exportJWK, generateKeyPair, type JWTPayload, SignJWT } from 'jose'
import Provider from 'oidc-provider'
import { drain, listen } from '#shared/process/http-server.ts'

export const OPENID_CLIENT = { id: 'workspace', secret: 'the secret of the workspace at its provider' }

type Answer = (request: IncomingMessage, response: ServerResponse) => void

/** A real OpenID provider on loopback, where whoever is named by `signInAs` signs in without a screen. */
export interface TestOpenidProvider {
  issuer: string
  /** What it says about each person, by subject. */
  people: Map<string, Record<string, unknown>>
  signInAs(subject: string): void
  /** From now on the person refuses, until somebody is to sign in again. */
  signInAsNobody(): void
  /** What the next request to this path gets in place of the provider's own answer. */
  answerNext(path: string, answer: Answer): void
  /** An ID token signed with the provider's own key, unless another is given. */
  idToken(
    claims: JWTPayload,
    header?: { alg?: string; kid?: string; typ?: string },
    key?: CryptoKey,
  ): Promise<string>
  /** Walks through the provider as a browser would. @returns where it is sent at the end: back to the workspace. */
  visit(authorizationUrl: string): Promise<URL>
  /** Paths that were asked for. */
  asked: string[]
  stop(): Promise<void>
}

export async function startOpenidProvider({
  redirectUris,
}: {
  redirectUris: string[]
}): Promise<TestOpenidProvider> {
  const people = new Map<string, Record<string, unknown>>()
  const asked: string[] = []
  const answers = new Map<string, Answer>()
  let subject: string | undefined
  let provider: Provider | undefined
  const { privateKey } = await generateKeyPair('ES256', { extractable: true })

  const server = createServer((request, response) => {
    const path = (request.url ?? '').split('?', 1)[0] as string
    asked.push(path)
    const answer = answers.get(path)
    answers.delete(path)
    if (answer) return answer(request, response)
    if (path.startsWith('/interaction/')) return void interact(request, response)
    void provider?.callback()(request, response)
  })
  const issuer = `http://127.0.0.1:${await listen(server, { host: '127.0.0.1', port: 0 })}`

  async function interact(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (!provider) return
    if (subject === undefined)
      return provider.interactionFinished(request, response, {
        error: 'access_denied',
        error_description: '<b>no</b>',
      })
    const { params } = await provider.interactionDetails(request, response)
    const grant = new provider.Grant({ accountId: subject, clientId: String(params.client_id) })
    grant.addOIDCScope(String(params.scope))
    const grantId = await grant.save()
    await provider.interactionFinished(request, response, {
      login: { accountId: subject },
      consent: { grantId },
    })
  }

  provider = new Provider(issuer, {
    clients: [
      {
        client_id: OPENID_CLIENT.id,
        client_secret: OPENID_CLIENT.secret,
        redirect_uris: redirectUris,
        response_types: ['code'],
        grant_types: ['authorization_code'],
        id_token_signed_response_alg: 'ES256',
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
    features: { devInteractions: { enabled: false } },
    interactions: { url: (_ctx, interaction) => `/interaction/${interaction.uid}` },
    findAccount: (_ctx, accountId) => ({
      accountId,
      claims: () => ({ sub: accountId, ...people.get(accountId) }),
    }),
    ttl: { Interaction: 600, Session: 600, Grant: 600, AccessToken: 600, IdToken: 600 },
  })

  return {
    issuer,
    people,
    asked,
    signInAs(next) {
      subject = next
    },
    signInAsNobody() {
      subject = undefined
    },
    answerNext: (path, answer) => void answers.set(path, answer),
    idToken: (claims, header = {}, key = privateKey) =>
      new SignJWT(claims).setProtectedHeader({ alg: 'ES256', kid: 'own', ...header }).sign(key),
    async visit(authorizationUrl) {
      const cookies = new Map<string, string>()
      let url = new URL(authorizationUrl)
      while (url.origin === issuer) {
        const response = await fetch(url, {
          redirect: 'manual',
          headers: { cookie: [...cookies].map((pair) => pair.join('=')).join('; ') },
        })
        for (const cookie of response.headers.getSetCookie()) {
          const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(cookie) ?? []
          cookies.set(name, value)
        }
        const location = response.headers.get('location')
        if (location === null)
          throw new Error(`the provider answered ${response.status}: ${await response.text()}`)
        url = new URL(location, url)
      }
      return url
    },
    stop: () => drain(server, 100),
  }
}
