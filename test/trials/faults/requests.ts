import type { Call } from './recorder.ts'
import type { ClientSecret, Company } from './world.ts'

type Request = Pick<Call, 'method' | 'path' | 'headers' | 'body'>

const bearer = (token: string) => ({ authorization: `Bearer ${token}` })
const JSON_BODY = { 'content-type': 'application/json' }

const form = (path: string, fields: Record<string, string>): Request => ({
  method: 'POST',
  path,
  headers: { 'content-type': 'application/x-www-form-urlencoded' },
  body: new URLSearchParams(fields).toString(),
})

export const tokenRequest = ({ clientId, clientSecret }: ClientSecret, scope: string): Request =>
  form('/v1/oauth/token', {
    grant_type: 'client_credentials',
    client_id: clientId,
    client_secret: clientSecret,
    scope,
  })

export const tokenRevocation = ({ clientId, clientSecret }: ClientSecret, token: string): Request =>
  form('/v1/oauth/revoke', { client_id: clientId, client_secret: clientSecret, token })

export const dailyRead = ({ vendorId }: Company, token: string): Request => ({
  path: `/v1/analytics/${vendorId}/daily`,
  headers: bearer(token),
})

/** To a service of somebody else. */
export const outsideRead = ({ vendorId }: Company, token: string): Request => ({
  path: `/${vendorId}`,
  headers: bearer(token),
})

export const eventReport = ({ vendorId }: Company, token: string, events: object[]): Request => ({
  method: 'POST',
  path: `/v1/analytics/${vendorId}/events`,
  headers: { ...bearer(token), ...JSON_BODY },
  body: JSON.stringify({ events }),
})

export const clientList = ({ vendorId, sessionToken }: Company): Request => ({
  path: `/v1/vendor/${vendorId}/oauth-clients?limit=20`,
  headers: bearer(sessionToken),
})

/** @param name also the Idempotency-Key. */
export const clientCreation = ({ vendorId, sessionToken }: Company, name: string): Request => ({
  method: 'POST',
  path: `/v1/vendor/${vendorId}/oauth-clients`,
  headers: { ...bearer(sessionToken), ...JSON_BODY, 'idempotency-key': name },
  body: JSON.stringify({ name, scopes: ['analytics:read'] }),
})

export const clientRevocation = ({ vendorId, sessionToken }: Company, clientId: string): Request => ({
  method: 'POST',
  path: `/v1/vendor/${vendorId}/oauth-clients/${clientId}/revoke`,
  headers: bearer(sessionToken),
})
