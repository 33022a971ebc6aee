/** Asks for a token as a client does: client_secret_post, with a form (RFC 6749 §2.3.1, §4.4.2). */
export const fetchToken = (
  baseUrl: string,
  {
    clientId,
    clientSecret,
    scope = 'analytics:read',
  }: { clientId: string; clientSecret: string; scope?: string },
): Promise<Response> =>
  fetch(`${baseUrl}/v1/oauth/token`, {
    method: 'POST',
    body: new URLSearchParams({
      grant_type: 'client_credentials',
      client_id: clientId,
      client_secret: clientSecret,
      scope,
    }),
  })
