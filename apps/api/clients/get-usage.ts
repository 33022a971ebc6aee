import { findClient } from '#shared/oauth/clients.ts'
import { type Route, route } from '../http/route.ts'
import { instantOf, instantOrNull, knownClientId, noSuchClient } from './client-answer.ts'
import type { ClientDependencies } from './dependencies.ts'
import { OAuthClientUsage } from './schemas.ts'
import { readUsageOf } from './usage-history.ts'
import { ADDRESS_AGE_MAX_MS, ADDRESSES_SHOWN } from './usage-windows.ts'

export const getUsage = ({ db, redis, clock, manager: by }: ClientDependencies): Route =>
  route({
    method: 'get',
    path: '/v1/vendor/:vendorId/oauth-clients/:clientId/usage',
    operationId: 'readUsage',
    tag: 'Clients',
    summary: 'Read the usage of a client',
    description: 'Tokens issued to the client, and its requests that either service refused.',
    by,
    answers: { 200: { description: 'Its usage.', schema: OAuthClientUsage } },
    problems: ['not_found'],
    async handle({ vendorId, params }) {
      const client = await findClient(db, { vendorId, clientId: knownClientId(params.clientId) })
      if (!client) throw noSuchClient()
      const { hours, minutes, scopes, addresses } = await readUsageOf({ db, redis, clock }, client.clientId)
      const shownFrom_ms = clock.now() - ADDRESS_AGE_MAX_MS
      return {
        hours: hours.map(({ at_ms, ...counts }) => ({ hour: instantOf(at_ms), ...counts })),
        minutes: minutes.map(({ at_ms, ...counts }) => ({ minute: instantOf(at_ms), ...counts })),
        scopes: client.scopes.map((scope) => ({ scope, lastUsedAt: instantOrNull(scopes.get(scope)) })),
        addresses: addresses
          .filter(({ seenAt_ms }) => seenAt_ms > shownFrom_ms)
          .slice(0, ADDRESSES_SHOWN)
          .map(({ address, tokens, seenAt_ms }) => ({ address, tokens, lastSeenAt: instantOf(seenAt_ms) })),
      }
    },
  })
