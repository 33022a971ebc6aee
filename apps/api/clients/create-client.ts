import { z } from 'zod'
import { CLIENT_ID_PATTERN, hashSecret } from '#shared/oauth/ids.ts'
import { SCOPES } from '#shared/oauth/scopes.ts'
import type { Queryable } from '#shared/stores/postgres.ts'
import { type RateLimit, rateLimitHeaders } from '#shared/stores/rate-limit.ts'
import { type Actor, actorUserId, recordActivity } from '../accounts/activity.ts'
import { newClientId, newClientSecret, secretHint } from '../accounts/new-ids.ts'
import { invalidMember } from '../http/input.ts'
import { throwIfAnswered } from '../http/problem.ts'
import { route } from '../http/route.ts'
import { publicKey } from '../keys/public-key.ts'
import { canWrite } from '../people/access.ts'
import { Problem } from '../problems/problems.ts'
import type { UsageStores } from '../usage/windows.ts'
import type { FetchKeysInTurn } from '../workload/fetch-keys.ts'
import { findIssuerKeys, trustIssuer } from '../workload/trust-issuer.ts'
import { platformOf, WorkloadInput } from '../workload/workload.ts'
import { clientAnswer, clientMembers, clientName, clientScope, readClientAnswer } from './client.ts'
import {
  type ClientInput,
  findByIdempotencyKey,
  hashRequest,
  IDEMPOTENCY_KEY_LIFETIME_HOURS,
  saveIdempotencyKey,
} from './idempotency-keys.ts'
import {
  type ClientRecord,
  countActiveClients,
  findClient,
  insertClient,
  lockReplaceableClient,
  type NewClientRecord,
} from './records.ts'

const ACTIVE_CLIENTS_MAX = 100

export const OAuthClientInput = z
  .strictObject({
    name: clientName,
    scopes: z
      .array(clientScope, 'must be a list of scopes')
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
        { type: 'string', description: 'In PEM: SubjectPublicKeyInfo, PKCS #1 or an X.509 certificate.' },
      ],
      description:
        'The public key of a client that authenticates with a private key, as a JWK or in PEM. Such a client has no secret. Of a JWK, only the members shown are kept, of a certificate only its key; a private key is refused.',
    }),
    workload: WorkloadInput.optional(),
    expiresAt: z.iso
      .datetime({ offset: true, error: 'must be an RFC 3339 time' })
      .transform((text) => new Date(text))
      .optional()
      .meta({
        type: 'string',
        format: 'date-time',
        description: 'RFC 3339 with any offset; a day to two years from now. Left out: it does not expire.',
      }),
  })
  .refine(({ publicKey, workload }) => !(publicKey && workload), {
    path: ['workload'],
    error: 'must be left out where there is a publicKey',
  })
  .meta({
    id: 'OAuthClientInput',
    // Without `replaces` and a key, so that any company can send it unchanged.
    examples: [{ name: 'Warehouse export', scopes: ['analytics:read'] }],
  })

const CreatedOAuthClient = z
  .object({
    ...clientMembers,
    clientSecret: z.string().nullable().meta({
      description:
        'Returned only in this response; only its hash is kept. null if the client has none, or the request is a repeat.',
    }),
  })
  .meta({ id: 'CreatedOAuthClient' })

// Visible ASCII is stored and logged unchanged everywhere.
const IDEMPOTENCY_KEY = /^[!-~]{1,255}$/

export const CreationHeaders = z.object({
  'Idempotency-Key': z
    .string()
    .regex(IDEMPOTENCY_KEY, 'must be 1 to 255 visible ASCII characters')
    .optional()
    .meta({
      description:
        `Makes it safe to repeat the request for ${IDEMPOTENCY_KEY_LIFETIME_HOURS} hours. ` +
        'A repeat returns 200 and the client that the first request created, without its secret.',
    }),
})

interface CreationNeeds extends UsageStores {
  fetchKeysInTurn: FetchKeysInTurn
  clientCreationsPerCompany: RateLimit
}

export const createClientRoute = route({
  method: 'post',
  path: '/v1/vendor/:vendorId/oauth-clients',
  // An issuer may take five seconds to publish its keys, and the person's turn comes after that.
  deadline: 'own',
  operationId: 'createClient',
  tag: 'Clients',
  summary: 'Create a client',
  description:
    'Only this response contains the secret. With `publicKey` there is none: the client signs assertions (RFC 7523); nor with `workload`: it sends a token of its platform. How it authenticates and when it expires never change. ' +
    `A company can have ${ACTIVE_CLIENTS_MAX} active clients.`,
  access: canWrite,
  body: OAuthClientInput,
  headers: CreationHeaders,
  answers: {
    200: {
      description:
        'The client that an earlier request with this Idempotency-Key created, without its secret.',
      schema: CreatedOAuthClient,
      headers: ['Location'],
    },
    201: {
      description: 'The new client, with its secret if it has one.',
      schema: CreatedOAuthClient,
      headers: ['Location'],
    },
  },
  problems: ['client_limit_reached', 'idempotency_in_progress', 'idempotency_key_reused'],
  async handle(
    { vendorId, session, inTurn, body, headers },
    { db, redis, clock, fetchKeysInTurn, clientCreationsPerCompany }: CreationNeeds,
    ctx,
  ) {
    // A revoked client stays on the public revocations page for a day, so limit how many a company creates.
    const rate = await clientCreationsPerCompany.consume(vendorId)
    ctx.set(rateLimitHeaders(rate))
    if (!rate.allowed) throw new Problem('rate_limited', 'Too many new clients for this company.')
    const { workload } = body
    const creation = {
      vendorId,
      userId: session.userId,
      name: body.name,
      scopes: body.scopes,
      replaces: body.replaces,
      authenticatesBy:
        body.publicKey ??
        (workload && {
          workload: { issuer: workload.issuer, platform: platformOf(workload), claims: workload.claims },
        }),
      issuerKeys: workload && (await findIssuerKeys({ db, fetchKeysInTurn }, vendorId, workload)),
      expiresAt: body.expiresAt,
      idempotencyKey: headers['Idempotency-Key'],
      at: new Date(clock.now()),
    }
    const { client, isNew, clientSecret } = await inTurn(() =>
      db.transaction(async (transaction) => {
        const result = await createOrFindClient(transaction, creation)
        // The 503 had no secret.
        throwIfAnswered(ctx)
        return result
      }),
    )
    ctx.set('Location', `/v1/vendor/${vendorId}/oauth-clients/${client.clientId}`)
    if (!isNew) return { ...(await readClientAnswer({ db, redis, clock }, vendorId, client)), clientSecret }
    ctx.status = 201
    // Nothing that can fail may come between creating a client and returning its secret, which is not stored.
    return { ...clientAnswer(client, undefined, null), clientSecret }
  },
})

const DAY_MS = 24 * 3_600_000
/** The caller's clock may differ from this one, and the request takes time. */
const EXPIRY_TOLERANCE_MS = 5 * 60_000

interface Creation extends ClientInput {
  vendorId: string
  userId: string
  /** The value of the Idempotency-Key header. */
  idempotencyKey: string | undefined
  at: Date
}

/** `clientSecret` is null if the client has none, or if an earlier request created it. */
type CreationResult = { client: ClientRecord; isNew: boolean; clientSecret: string | null }

/**
 * Creates a client, or finds the one that an earlier request with the same Idempotency-Key created.
 * @throws Problem client_limit_reached, invalid_input, idempotency_in_progress or idempotency_key_reused
 */
async function createOrFindClient(transaction: Queryable, creation: Creation): Promise<CreationResult> {
  const { vendorId, userId, idempotencyKey, at } = creation
  if (idempotencyKey === undefined) return createClient(transaction, creation)
  const request = { vendorId, userId, idempotencyKey, requestHash: hashRequest(creation), at }
  const earlierId = await findByIdempotencyKey(transaction, request)
  if (earlierId !== undefined) {
    const client = await readBack(transaction, { vendorId, clientId: earlierId })
    return { client, isNew: false, clientSecret: null }
  }
  const result = await createClient(transaction, creation)
  await saveIdempotencyKey(transaction, request, result.client.clientId)
  return result
}

async function createClient(transaction: Queryable, creation: Creation): Promise<CreationResult> {
  const { vendorId, userId, name, scopes, replaces, authenticatesBy, issuerKeys, expiresAt, at } = creation
  if (expiresAt) requireValidExpiry(expiresAt, at)
  if ((await countActiveClients(transaction, vendorId)) >= ACTIVE_CLIENTS_MAX) {
    throw new Problem(
      'client_limit_reached',
      `A company can have ${ACTIVE_CLIENTS_MAX} active clients. Revoke one that is no longer used.`,
    )
  }
  const replacedName =
    replaces && (await lockReplaceableClient(transaction, { vendorId, clientId: replaces }))
  if (replaces !== undefined && replacedName === undefined) {
    const detail = 'must be an Active client of this company that no Active client replaces yet'
    throw invalidMember('/replaces', detail)
  }
  if (authenticatesBy && 'workload' in authenticatesBy) {
    const { issuer } = authenticatesBy.workload
    await trustIssuer(transaction, { vendorId, issuer, issuerKeys, at })
  }
  const clientId = newClientId()
  const clientSecret = newClientSecret()
  await insertClientWithActivity(transaction, {
    clientId,
    vendorId,
    name,
    scopes,
    authenticatesBy: authenticatesBy ?? {
      secretHash: hashSecret(clientSecret),
      secretHint: secretHint(clientSecret),
    },
    expiresAt,
    replaces,
    replacedName,
    createdBy: userId,
    createdAt: at,
  })
  const client = await readBack(transaction, { vendorId, clientId })
  return { client, isNew: true, clientSecret: authenticatesBy ? null : clientSecret }
}

/** Checked only for a new client: when a request is repeated, its expiry is nearer than it was. */
function requireValidExpiry(expiresAt: Date, at: Date): void {
  const inTwoYears = new Date(at)
  inTwoYears.setUTCFullYear(at.getUTCFullYear() + 2)
  const isValid =
    expiresAt.getTime() >= at.getTime() + DAY_MS - EXPIRY_TOLERANCE_MS &&
    expiresAt.getTime() <= inTwoYears.getTime() + EXPIRY_TOLERANCE_MS
  if (isValid) return
  const detail = `must be between one day and two years from now. By our clock, it is ${at.toISOString()}`
  throw invalidMember('/expiresAt', detail)
}

/** Inserts a client and its activity entry. Call it in a transaction. */
export async function insertClientWithActivity(
  transaction: Queryable,
  {
    createdBy,
    replacedName,
    ...client
  }: Omit<NewClientRecord, 'createdBy'> & {
    createdBy: Actor
    replacedName?: string | undefined
  },
): Promise<void> {
  const { vendorId, clientId, name, scopes, replaces, expiresAt, authenticatesBy } = client
  await insertClient(transaction, { ...client, createdBy: actorUserId(createdBy) })
  const detail = {
    name,
    scopes,
    ...(replaces !== undefined && { replaces: { clientId: replaces, name: replacedName } }),
    ...(expiresAt && { expiresAt: expiresAt.toISOString() }),
    ...('keyThumbprint' in authenticatesBy && { keyThumbprint: authenticatesBy.keyThumbprint }),
    ...('workload' in authenticatesBy && { workload: authenticatesBy.workload }),
  }
  await recordActivity(transaction, { vendorId, by: createdBy }, 'client.created', clientId, detail)
}

async function readBack(
  transaction: Queryable,
  client: { vendorId: string; clientId: string },
): Promise<ClientRecord> {
  const clientRecord = await findClient(transaction, client)
  if (!clientRecord) throw new Error('a client that was just found or created is missing')
  return clientRecord
}
