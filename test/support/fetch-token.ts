import { assertionFields } from './assertions.ts'

export interface TokenRequest {
  clientId: string
  clientSecret?: string
  /** In place of a secret. */
  assertion?: string
  scope?: string
}

/** Asks for a token as a client does, with a form (RFC 6749 §2.3.1, §4.4.2; RFC 7523 §2.2). */
export const fetchToken = (
  baseUrl: string,
  { clientId, clientSecret = '', assertion, scope = 'analytics:read' }: TokenRequest,
): Promise<Response> =>
  fetch(`${baseUrl}/v1/oauth/token`, {
    method: 'POST',
    body: new URLSearchParams({
      grant_type: 'client_credentials',
      client_id: clientId,
      ...(assertion ? assertionFields(assertion) : { client_secret: clientSecret }),
      scope,
    }),
  })
