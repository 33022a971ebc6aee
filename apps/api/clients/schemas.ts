import { z } from 'zod'
import { CLIENT_ID_PATTERN } from '#shared/oauth/ids.ts'
import { SCOPES } from '#shared/oauth/scopes.ts'
import { CLIENT_NAME_MAX_CHARACTERS } from '#shared/rules/clients.ts'
import { oneLine } from '../http/input.ts'
import { cursorTime, nextCursor, pageParameters } from '../http/page.ts'
import { actor, instant, refusalCause } from '../http/schemas.ts'
import { pastedKeys } from '../keys/key-set.ts'
import { publicKey } from '../keys/public-key.ts'
import { workload, workloadIssuer } from '../workload/workload.ts'

const scope = z.enum(SCOPES, `must be one of ${SCOPES.join(', ')}`).meta({ id: 'Scope' })

const name = oneLine(1, CLIENT_NAME_MAX_CHARACTERS).meta({
  minLength: 1,
  maxLength: CLIENT_NAME_MAX_CHARACTERS,
})

export const RenamedOAuthClient = z.strictObject({ name }).meta({ id: 'RenamedOAuthClient' })

export const OAuthClientInput = z
  .strictObject({
    name,
    scopes: z
      .array(scope, 'must be a list of scopes')
      .min(1, 'must name at least one scope')
      .max(SCOPES.length, 'must not name a scope twice')
      .refine((scopes) => new Set(scopes).size === scopes.length, 'must not name a scope twice')
      .meta({ uniqueItems: true, description: 'Only the scopes that the integration needs.' }),
    replaces: z
      .string('must be the id of a client')
      .regex(CLIENT_ID_PATTERN, 'must be the id of a client')
      .optional()
      .meta({ description: 'The Active client that the new client replaces.' }),
    publicKey: publicKey.optional().meta({
      oneOf: undefined,
      discriminator: undefined,
      anyOf: [
        { $ref: '#/components/schemas/EcPublicKey' },
        { $ref: '#/components/schemas/EdPublicKey' },
        { $ref: '#/components/schemas/RsaPublicKey' },
        { type: 'string', description: 'SubjectPublicKeyInfo in PEM.' },
      ],
      description:
        'The public key of a client that authenticates with a private key, as a JWK or in PEM. Such a client has no secret. Of a JWK, only the members shown are kept; a private one is refused.',
    }),
    workload: workload.optional(),
    expiresAt: z.iso
      .datetime({ offset: true, error: 'must be an RFC 3339 time' })
      .transform((text) => new Date(text))
      .optional()
      .meta({
        type: 'string',
        format: 'date-time',
        description: 'RFC 3339 with Z or any offset; a day to two years ahead. Left out: it does not expire.',
      }),
  })
  .refine(({ publicKey, workload }) => !(publicKey && workload), {
    path: ['workload'],
    error: 'must be left out where there is a publicKey',
  })
  .meta({
    id: 'OAuthClientInput',
    // Without `replaces` and a key: any company can send it as it is.
    examples: [{ name: 'Warehouse export', scopes: ['analytics:read'] }],
  })

const failing = z
  .object({
    since: instant,
    cause: refusalCause,
    address: z.string().nullable(),
    senderKnown: z.boolean(),
  })
  .meta({
    id: 'ClientFailing',
    description:
      'Requests were refused in the last 24 hours, and none can have succeeded `since`: its tokens had expired. `cause` and `address` are of the newest. Unless `senderKnown`, anyone who knows the client id may have sent them; they count after 24 hours without a token. Of a Revoked client: what was refused since.',
  })

const status = z.enum(['Active', 'Revoked'])

const client = {
  clientId: z.string(),
  name: z.string(),
  scopes: z.array(scope),
  secretHint: z.string().nullable().meta({
    description: "The secret's last four characters; null for clients that have none.",
  }),
  authMethod: z
    .enum(['client_secret', 'private_key_jwt', 'workload_identity'])
    .meta({ description: 'How it authenticates. This never changes.' }),
  keyThumbprint: z.string().nullable().meta({
    description: 'The RFC 7638 thumbprint of its key, by SHA-256; null for clients that have none.',
  }),
  workload: z
    .object({ issuer: z.string(), claims: z.record(z.string(), z.string()) })
    .meta({ id: 'Workload', description: 'Whose tokens it sends, and the claims that name it in them.' })
    .nullable(),
  expiresAt: instant
    .nullable()
    .meta({ description: 'From then on it gets no tokens. This never changes; null if it does not expire.' }),
  status,
  secretFoundAt: instant.nullable().meta({ description: 'When someone reported its secret.' }),
  secretFoundSource: z.string().nullable().meta({ description: 'Where they found it. Unverified text.' }),
  replaces: z.string().nullable().meta({ description: 'The client that it replaces.' }),
  replacedBy: z.string().nullable().meta({ description: 'The client that replaces it.' }),
  createdAt: instant,
  createdBy: actor,
  revokedAt: instant.nullable(),
  revokedBy: actor.nullable(),
  lastUsedAt: instant.nullable().meta({ description: 'When it last got a token; null if never.' }),
  usesMissingBefore: instant
    .nullable()
    .meta({ description: 'Uses after `lastUsedAt` and before this may have been lost; null if none was.' }),
  tokensIssued24h: z.int().meta({ description: 'Tokens of the last 24 hours, counted in whole hours.' }),
  tokensByDay: z.array(z.int().min(0)).meta({
    description: 'Tokens of each 24 hours of the last 14 days, oldest first; the last is tokensIssued24h.',
  }),
  failing: failing.nullable(),
  failingKnown: z
    .boolean()
    .meta({ description: 'false while refusals cannot be read. `failing` is null then.' }),
}

export const OAuthClient = z.object(client).meta({ id: 'OAuthClient' })

export const CreatedOAuthClient = z
  .object({
    ...client,
    clientSecret: z.string().nullable().meta({
      description:
        'Returned only in this response; only its hash is kept. null if the client has none, or the request is a repeat.',
    }),
  })
  .meta({ id: 'CreatedOAuthClient' })

export const ClientPage = z
  .object({ clients: z.array(OAuthClient), nextCursor })
  .meta({ id: 'OAuthClientPage' })

export const WorkloadIssuer = z
  .object({
    issuer: z.string(),
    keysFrom: z
      .enum(['issuer', 'pasted'])
      .meta({ description: '`issuer`: fetched regularly. `pasted`: replaced only by a person.' }),
    keysAsOf: instant.meta({ description: 'When the keys were last fetched or pasted.' }),
    keyIds: z.array(z.string()).meta({ description: 'The `kid` of each key that has one.' }),
    failing: z.string().nullable().meta({
      description:
        'Why the keys could not be fetched for an hour or longer. After 24 hours they are not believed any more.',
    }),
  })
  .meta({ id: 'WorkloadIssuer' })

export const WorkloadIssuers = z.object({ issuers: z.array(WorkloadIssuer) }).meta({ id: 'WorkloadIssuers' })

export const WorkloadIssuerKeys = z
  .strictObject({ issuer: workloadIssuer, keys: pastedKeys })
  .meta({ id: 'WorkloadIssuerKeys' })

const count = z.int().min(0)

export const OAuthClientUsage = z
  .object({
    hours: z
      .array(z.object({ hour: instant, tokens: count, refused: count }))
      .meta({ description: 'Every hour of the last 14 days, oldest first; the last one is not over yet.' }),
    minutes: z
      .array(z.object({ minute: instant, tokens: count, refused: count }))
      .meta({ description: 'Every minute of the last 60, oldest first; the last one is not over yet.' }),
    scopes: z.array(z.object({ scope, lastUsedAt: instant.nullable() })).meta({
      description: 'Each scope of the client, with the time a token with it was last issued; null if never.',
    }),
    addresses: z
      .array(
        z.object({
          address: z.string(),
          tokens: count,
          lastSeenAt: instant,
          firstDay: z.iso.date(),
        }),
      )
      .meta({
        description:
          'The 20 addresses that most recently got a token, from the last 14 days. `firstDay` (UTC): the first of 100 days on which it got one.',
      }),
  })
  .meta({ id: 'OAuthClientUsage' })

const addressesUsed = z
  .array(z.object({ address: z.string(), lastUsedAt: instant }).meta({ id: 'AddressUsed' }))
  .meta({ description: 'Addresses that got a token in the last 100 days, the latest 200.' })

export const ClientRotation = z
  .object({
    old: z.object({
      clientId: z.string(),
      status,
      lastUsedAt: instant.nullable(),
      longestQuietHours: z.number().nullable().meta({
        description: 'The longest time between two tokens since `seenSince`; null if it got fewer than two.',
      }),
      addresses: addressesUsed,
    }),
    replacement: z
      .object({
        clientId: z.string(),
        status,
        firstUsedAt: instant.nullable(),
        lastUsedAt: instant.nullable(),
        addresses: addressesUsed,
      })
      .meta({ id: 'RotationReplacement' })
      .nullable(),
    refusedSinceRevoke: z.object({ count, lastAt: instant.nullable(), addresses: z.array(z.string()) }).meta({
      description:
        'Requests with its secret or its tokens, refused because it is revoked: of the last 24 hours, at most 200.',
    }),
    seenSince: instant,
    usesMissingSince: instant.nullable().meta({
      description:
        'Uses of the old client after this time, its last known use or its creation, may be missing; null if all were counted.',
    }),
  })
  .meta({ id: 'ClientRotation' })

const position = z.tuple([cursorTime, z.string().regex(CLIENT_ID_PATTERN)])

export const ClientQuery = z.strictObject({
  ...pageParameters(position),
  status: z
    .enum(['Active', 'Revoked'], 'must be Active or Revoked')
    .optional()
    .meta({ description: 'Only clients of this status.' }),
  secretFound: z
    .enum(['true'], 'must be true')
    .optional()
    .meta({ description: 'Only clients whose secret was reported.' }),
})

// Visible ASCII stays the same wherever it is logged or stored.
const IDEMPOTENCY_KEY = /^[\x21-\x7E]{1,255}$/

export const CreationHeaders = z.object({
  'Idempotency-Key': z
    .string()
    .regex(IDEMPOTENCY_KEY, 'must be 1 to 255 visible ASCII characters')
    .optional()
    .meta({
      description:
        'Makes it safe to repeat the request for 24 hours. A repeat returns 200 and the client that the first request created, without its secret.',
    }),
})
