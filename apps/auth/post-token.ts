import type { Clock } from '#shared/process/clock.ts'
import { issueAccessToken } from './access-token.ts'
import { answerUncached } from './answer.ts'
import type { Audit } from './audit.ts'
import type { Authenticate } from './authenticate.ts'
import { readCredentials } from './credentials.ts'
import { readForm } from './form.ts'
import type { TokenProtocol } from './protocol.ts'
import { Refusal } from './refusal.ts'
import { credentialsInQuery, type Handler, missing } from './route.ts'
import type { UsageCounter } from './usage-counter.ts'

const FIELDS = new Set(['grant_type', 'client_id', 'client_secret', 'scope', 'resource'])

/** POST /v1/oauth/token: the client-credentials grant (RFC 6749 §4.4). */
export function createPostToken({
  authenticate,
  protocol,
  audit,
  usage,
  clock,
  issuer,
  resource,
}: {
  authenticate: Authenticate
  protocol: TokenProtocol
  audit: Audit
  usage: UsageCounter
  clock: Clock
  issuer: string
  resource: string
}): Handler {
  return async ({ request, context, path, query }) => {
    const refuse = (refusal: Refusal, clientId?: string) => {
      audit.refused(context, path, clientId, refusal)
      return refusal.answer
    }
    const inQuery = credentialsInQuery(query, FIELDS)
    if (inQuery) return refuse(inQuery)
    const form = await readForm(request, FIELDS)
    if (form instanceof Refusal) return refuse(form)
    const credentials = readCredentials(request, form)
    if (credentials instanceof Refusal) return refuse(credentials, form.get('client_id'))
    const { clientId } = credentials
    const grantType = form.get('grant_type')
    const scope = form.get('scope')
    if (grantType === undefined) return refuse(missing('grant_type'), clientId)
    if (scope === undefined) return refuse(missing('scope'), clientId)

    const client = await authenticate(credentials, context.clientAddress)
    if (client instanceof Refusal) return refuse(client, clientId)

    const { record, signer } = client
    const { vendorId } = record
    let jti = ''
    const response = await protocol.respond({
      client,
      grantType,
      scope,
      resource: form.get('resource'),
      issue(granted) {
        const claims = { issuer, audience: resource, clientId, vendorId, scope: granted, now: clock.now() }
        const issued = issueAccessToken(signer, claims)
        jti = issued.jti
        return issued.token
      },
    })
    if (response instanceof Refusal) return refuse(response, clientId)
    usage.count(clientId, scope, context.clientAddress)
    audit.tokenIssued(context, { clientId, vendorId, jti, kid: signer.kid, scope })
    return answerUncached(200, response)
  }
}
