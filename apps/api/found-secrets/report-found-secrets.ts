import { z } from 'zod'
import { hashSecret } from '#shared/oauth/ids.ts'
import { rateLimitHeaders } from '#shared/stores/rate-limit.ts'
import { hasSecretChecksum } from '../accounts/new-ids.ts'
import type { FoundSecret } from '../clients/records.ts'
import { JSON_BODY_LIMIT_BYTES } from '../http/body.ts'
import { declaredLength } from '../http/received-bytes.ts'
import { type Access, route } from '../http/route.ts'
import { Problem } from '../problems/problems.ts'
import { type AddressLimits, consumeAddress } from '../stores/address-limits.ts'
import type { FoundSecretReports } from './reports.ts'
import { sanitizeSource } from './source.ts'

const SECRETS_MAX = 100
const SECRET_MAX_CHARACTERS = 255
/** A longer report counts as several against the limit, because reading it costs as much. */
const COUNTED_AS_ONE_BYTES = 8 * 1_024

const secret = z
  .string('must be a secret')
  .max(SECRET_MAX_CHARACTERS, `must have at most ${SECRET_MAX_CHARACTERS} characters`)

const upToMax = <Item extends z.ZodType>(item: Item) =>
  z
    .array(item)
    .min(1, `must have 1 to ${SECRETS_MAX} entries`)
    .max(SECRETS_MAX, `must have 1 to ${SECRETS_MAX} entries`)

const FoundSecrets = z.strictObject({ secrets: upToMax(secret) }).meta({ id: 'FoundSecrets' })

/** What GitHub's secret scanning sends its partners. Unknown members are ignored, in case it adds some. */
const ScannerReport = upToMax(
  z.object({ token: secret, url: z.unknown().optional(), source: z.unknown().optional() }),
)

const INVALID =
  'must be {"secrets": […]} or a list of {"token": …, "url": …, "source": …}, with 1 to 100 entries'

/** Counts every report by its size, before its body is read. */
const limitedByAddress: Access<object, { foundSecretsPerAddress: AddressLimits }> = {
  async admit(ctx, { foundSecretsPerAddress }) {
    const size_bytes = Math.min(declaredLength(ctx.req) ?? JSON_BODY_LIMIT_BYTES, JSON_BODY_LIMIT_BYTES)
    const weight = Math.max(1, Math.ceil(size_bytes / COUNTED_AS_ONE_BYTES))
    const rate = await consumeAddress(foundSecretsPerAddress, ctx.state.request.clientAddress, weight)
    ctx.set(rateLimitHeaders(rate))
    if (!rate.allowed) throw new Problem('rate_limited', 'Too many reports from this address.')
    return {}
  },
  problems: ['rate_limited'],
}

export const reportFoundSecretsRoute = route({
  method: 'post',
  path: '/v1/found-secrets',
  operationId: 'reportFoundSecrets',
  tag: 'Clients',
  summary: 'Report client secrets that were found',
  description:
    "Needs no authentication. Also takes the list of GitHub's secret scanning. The answer is sent before " +
    'anything is looked up, so it does not tell whether a secret is in use.',
  access: limitedByAddress,
  body: z.union([FoundSecrets, ScannerReport], INVALID),
  publishedBody: FoundSecrets,
  answers: { 202: { description: 'Received.' } },
  async handle({ body }, { foundSecrets }: { foundSecrets: FoundSecretReports }, ctx) {
    const secrets = selectCandidates(body)
    const { log, request } = ctx.state
    if (secrets.length > 0) foundSecrets.add({ secrets, clientAddress: request.clientAddress, log })
    return undefined
  },
})

/** Returns the secrets with a valid checksum, which keeps random text from the database. */
function selectCandidates(body: z.infer<typeof FoundSecrets> | z.infer<typeof ScannerReport>): FoundSecret[] {
  const entries = Array.isArray(body) ? body : body.secrets.map((token) => ({ token }))
  return entries
    .filter(({ token }) => hasSecretChecksum(token))
    .map((entry) => ({ secretHash: hashSecret(entry.token), source: sanitizeSource(entry) }))
}
