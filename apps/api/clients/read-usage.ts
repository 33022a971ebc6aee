import { z } from 'zod'
import { ADDRESS_DAYS_KEPT, ADDRESSES_PER_DAY_MAX } from '#shared/rules/clients.ts'
import { instant } from '../http/instant.ts'
import { route } from '../http/route.ts'
import { canView } from '../people/access.ts'
import { readUsageHistory } from '../usage/read.ts'
import { ADDRESSES_SHOWN, DAYS_SHOWN, MINUTES_SHOWN, type UsageStores } from '../usage/windows.ts'
import { clientScope, requireClient } from './client.ts'

const count = z.int().min(0)

const OAuthClientUsage = z
  .object({
    hours: z.array(z.object({ hour: instant, tokens: count, refused: count })).meta({
      description: `Every hour of the last ${DAYS_SHOWN} days, oldest first; the last one is not over yet.`,
    }),
    minutes: z.array(z.object({ minute: instant, tokens: count, refused: count })).meta({
      description: `Every minute of the last ${MINUTES_SHOWN}, oldest first; the last one is not over yet.`,
    }),
    scopes: z.array(z.object({ scope: clientScope, lastUsedAt: instant.nullable() })).meta({
      description: 'Each scope of the client, with the time a token with it was last issued; null if never.',
    }),
    addresses: z
      .array(
        z.object({
          address: z.string(),
          tokens: count,
          firstSeenAt: instant,
          lastSeenAt: instant,
        }),
      )
      .meta({
        description:
          `The ${ADDRESSES_SHOWN} addresses that most recently got a token since \`addressesSince\`; ` +
          `of each day (UTC), the first ${ADDRESSES_PER_DAY_MAX} are counted. An IPv6 address is counted and ` +
          'shown by its network, such as `2001:db8::/64`. `firstSeenAt`: when it got the first that is known, ' +
          `in the last ${ADDRESS_DAYS_KEPT} days.`,
      }),
    addressesSince: instant.meta({
      description: `When the first of the last ${DAYS_SHOWN} days (UTC) began. \`tokens\` of an address are counted from then on.`,
    }),
    addressesMissingBefore: instant.nullable().meta({
      description:
        'Addresses that are not listed may have got tokens before this time; null if all are listed.',
    }),
  })
  .meta({ id: 'OAuthClientUsage' })

export const readUsageRoute = route({
  method: 'get',
  path: '/v1/vendor/:vendorId/oauth-clients/:clientId/usage',
  operationId: 'readUsage',
  tag: 'Clients',
  summary: 'Read the usage of a client',
  description: 'Tokens issued to the client, and its requests that either service refused.',
  access: canView,
  answers: { 200: { description: 'Its usage.', schema: OAuthClientUsage } },
  problems: ['not_found'],
  async handle({ vendorId, params }, stores: UsageStores) {
    const client = await requireClient(stores.db, vendorId, params.clientId)
    const usage = await readUsageHistory(stores, client.clientId)
    const { hours, minutes, scopes, addresses, addressesSince, addressesMissingBefore } = usage
    return {
      hours: hours.map(({ at, ...counts }) => ({ hour: at.toISOString(), ...counts })),
      minutes: minutes.map(({ at, ...counts }) => ({ minute: at.toISOString(), ...counts })),
      scopes: client.scopes.map((scope) => ({
        scope,
        lastUsedAt: scopes.get(scope)?.toISOString() ?? null,
      })),
      addresses: addresses.map(({ firstSeenAt, lastSeenAt, ...address }) => ({
        ...address,
        firstSeenAt: firstSeenAt.toISOString(),
        lastSeenAt: lastSeenAt.toISOString(),
      })),
      addressesSince: addressesSince.toISOString(),
      addressesMissingBefore: addressesMissingBefore?.toISOString() ?? null,
    }
  },
})
