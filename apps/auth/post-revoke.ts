import type { Clock } from '#shared/process/clock.ts'
import { insertRevokedToken } from '#shared/revocation/records.ts'
import type { Revocation } from '#shared/revocation/revocation.ts'
import { verifyOwnToken } from './access-token.ts'
import { answerUncached } from './answer.ts'
import type { Audit } from './audit.ts'
import type { Authenticate } from './authenticate.ts'
import { readCredentials } from './credentials.ts'
import { readForm } from './form.ts'
import type { KeyRing } from './key-ring.ts'
import { Refusal, unavailable } from './refusal.ts'
import { credentialsInQuery, type Handler, missing } from './route.ts'

const FIELDS = new Set(['token', 'client_id', 'client_secret'])

/**
 * POST /v1/oauth/revoke (RFC 7009): a client ends its own token. Whatever else is sent as a token gets the same
 * 200, so that nobody learns here whether a token that they found is alive or whose it is.
 */
export function createPostRevoke({
  authenticate,
  revocation,
  keys,
  audit,
  clock,
  issuer,
  resource,
}: {
  authenticate: Authenticate
  revocation: Revocation
  keys: KeyRing
  audit: Audit
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
    const token = form.get('token')
    if (token === undefined) return refuse(missing('token'), clientId)

    const client = await authenticate(credentials, context.clientAddress)
    if (client instanceof Refusal) return refuse(client, clientId)
    if (client.hold) return refuse(client.hold, clientId)

    const expected = { keys: keys.published(), issuer, audience: resource, now: clock.now() }
    const claims = await verifyOwnToken(token, expected)
    if (claims?.client_id !== clientId) return answerUncached(200, '')
    const { jti, exp } = claims
    const row = { jti, clientId, expiresAt: new Date(exp * 1_000) }
    try {
      await revocation.revoke({ kind: 'token', id: jti }, (transaction) =>
        insertRevokedToken(transaction, row),
      )
    } catch (error) {
      audit.failed(context, path, error)
      return refuse(unavailable('revocation_not_stored'), clientId)
    }
    audit.tokenRevoked(context, { clientId, jti })
    return answerUncached(200, '')
  }
}
