import { actorName } from '#shared/rules/actors.ts'
import { revokerAnswer } from '../clients/client.ts'
import type { ClientRecord } from '../clients/records.ts'
import type { RefusalRecord } from '../usage/refusals.ts'

/** Why a request was refused and what to do about it, for a person in the client's company. */
export interface Explanation {
  reason: string
  advice: string
}

/** Explains a refusal. @param client undefined if it is not known. */
export function explainRefusal(refusal: RefusalRecord, client: ClientRecord | undefined): Explanation {
  if (client?.workload) {
    const explain = PLATFORM_TOKEN_REASONS.get(refusal.reason)
    if (explain) return explain(refusal, client.workload)
  }
  const explanation = REASONS.get(refusal.reason) ?? {
    reason: `The request was refused with ${refusal.code}.`,
    advice: 'The documentation explains this code.',
  }
  return typeof explanation === 'function' ? explanation(refusal, client) : explanation
}

type Explain = (refusal: RefusalRecord, client: ClientRecord | undefined) => Explanation
type Reasons = Record<string, Explanation | Explain>

const NOTHING_AROUND =
  'and that nothing stands before or after it, such as a line break or quotes. If it is lost, create a replacement client.'
const REPLACE = 'Create a replacement client and deploy it.'
const NEW_TOKEN = 'Request a new token from the token endpoint. A token is valid for 15 minutes.'
const SETTINGS = 'Check the base URL in the configuration of your system.'
const CLOCK = 'Report to the operator of this service that a clock is wrong.'

/** By the internal reason that the services record. */
const REASONS = new Map<string, Explanation | Explain>(
  Object.entries({
    no_secret: (_, client) =>
      client?.keyThumbprint || client?.workload
        ? { reason: 'No assertion was sent.', advice: 'Send client_assertion and client_assertion_type.' }
        : { reason: 'No client secret was sent.', advice: 'Send client_secret, or use HTTP Basic.' },
    wrong_secret: (_, client) => ({
      reason: 'The client secret was wrong.',
      advice: client?.secretHint
        ? `Check that the deployed secret ends in ${client.secretHint}, ${NOTHING_AROUND}`
        : `Check the deployed secret, ${NOTHING_AROUND}`,
    }),
    failures_of_address: {
      reason: 'Too many requests from that address failed to authenticate, including this one.',
      advice: 'Correct the credentials, then wait for the time in Retry-After.',
    },
    rate_of_client: {
      reason: 'The client, or the whole company, sent more requests than its limit allows.',
      advice: 'Reuse a token until it expires, and wait for the time in Retry-After.',
    },
    revocations_full: {
      reason: 'The company has used up its share of the list of revoked tokens. The token was not revoked.',
      advice:
        'Let the token expire, or revoke the client, which is always possible. Otherwise, wait for the time in Retry-After.',
    },
    rate_limited: {
      reason: 'The client sent more requests than its limit allows.',
      advice: 'Send fewer requests, and wait for the time in Retry-After.',
    },
    expired: { reason: 'The access token had expired.', advice: NEW_TOKEN },
    revoked,
    revoked_client: revoked,
    expired_client: (_, client) => ({
      reason: client?.expiresAt
        ? `The client expired at ${client.expiresAt.toISOString()}.`
        : 'The client had expired.',
      advice: REPLACE,
    }),
    issuer: { reason: 'The access token is from a different issuer.', advice: SETTINGS },
    audience: { reason: 'The access token is for a different API.', advice: SETTINGS },
    issued_in_future: { reason: 'The access token was issued in the future.', advice: CLOCK },
    not_yet_valid: { reason: 'The access token is not valid yet.', advice: CLOCK },
    unsupported_grant_type: {
      reason: 'grant_type was not client_credentials.',
      advice: 'Send grant_type=client_credentials.',
    },
    invalid_scope: scopeNotAssigned,
    invalid_target: {
      reason: 'resource named a different API.',
      advice: 'Leave resource out of the token request, or send the identifier of this API.',
    },
    insufficient_scope: scopeLacking,
    invalid_input: ({ about }) => ({
      reason: about === undefined ? 'A field was invalid.' : `A field was invalid: ${about}.`,
      advice: 'The errors in the response name each invalid field and the reason.',
    }),
    malformed_json: {
      reason: 'The body was not valid JSON in UTF-8, or ended too early.',
      advice: 'The detail in the response says which. Write the body with a JSON library.',
    },
    unsupported_media_type: {
      reason: 'The body was not sent as plain JSON.',
      advice: 'Send Content-Type: application/json, and no Content-Encoding.',
    },
    payload_too_large: {
      reason: 'The body was too large.',
      advice: 'Split it over several requests. The detail in the response has the limit.',
    },
    precondition_failed: {
      reason: 'If-Match did not match: the figures have changed since they were read.',
      advice: 'Read them again without If-Match.',
    },
    request_timeout: {
      reason: 'The body took too long to arrive.',
      advice: 'Send the body without pauses, or split it over several requests.',
    },
    forbidden: {
      reason: "The path names a different company from the client's.",
      advice: 'Put the id of your own company in the path.',
    },
    ...assertionReasons(),
    ...workloadReasons(),
  } satisfies Reasons),
)

/** For refused assertions (RFC 7523 §3). */
function assertionReasons(): Reasons {
  const setClock = 'If you already do, synchronize the clock of your system.'
  return {
    assertion_malformed: {
      reason: 'client_assertion was not a JWT that authenticates a client.',
      advice:
        'Send client_assertion_type=urn:ietf:params:oauth:client-assertion-type:jwt-bearer, and a JWT of typ JWT that your private key signed.',
    },
    assertion_wrong_algorithm: {
      reason: "The assertion's alg does not match the client's key.",
      advice: 'Sign with ES256 for a P-256 key, EdDSA for Ed25519, and PS256 or RS256 for RSA.',
    },
    assertion_wrong_key: (_, client) => ({
      reason: 'The assertion was signed with another key.',
      advice: client?.keyThumbprint
        ? `Sign with the private key whose public key has the thumbprint ${client.keyThumbprint}.`
        : 'Sign with the private key of the client.',
    }),
    assertion_wrong_subject: ({ clientId }) => ({
      reason: 'iss, sub and client_id did not all name this client.',
      advice: `Set iss and sub to ${clientId}.`,
    }),
    assertion_wrong_audience: ({ about }) => ({
      reason: `The assertion was for a different server, or for several${claimValue(about)}.`,
      advice: 'Set aud to the URL of the token endpoint.',
    }),
    assertion_from_the_future: ({ about }) => ({
      reason: `iat or nbf was ${duration(about)} ahead of our clock.`,
      advice: `Write both in seconds since 1970. ${setClock}`,
    }),
    assertion_no_exp: {
      reason: 'The assertion had no exp.',
      advice: 'Set exp to a minute from now, in seconds since 1970.',
    },
    assertion_expired: ({ about }) => ({
      reason: `The assertion had expired ${duration(about)} before.`,
      advice: `Sign a new assertion for each request. ${setClock}`,
    }),
    assertion_too_far_ahead: ({ about }) => ({
      reason: `exp was ${duration(about)} ahead of our clock.`,
      advice: 'Set exp to a minute from now, in seconds since 1970. It may be an hour ahead at most.',
    }),
    assertion_no_jti: {
      reason: 'The assertion had no jti of 1 to 255 characters.',
      advice: 'Set jti to a new random value in each assertion.',
    },
    assertion_replayed: {
      reason: 'This assertion was used before.',
      advice: 'Sign a new assertion with a new jti for each request, retries included.',
    },
    assertion_of_secret_client: {
      reason: 'The client has a secret, and an assertion was sent.',
      advice: 'Send the secret, or create a replacement client that has a key pair.',
    },
    secret_of_key_client: (_, client) => ({
      reason: `The client has ${client?.workload ? 'no secret' : 'a key pair'}, and a secret was sent.`,
      advice: `Send ${client?.workload ? "your platform's token as client_assertion" : 'an assertion'}, or create a replacement client that has a secret.`,
    }),
  }
}

/** For refused tokens of a platform: what its user can change, since the platform signs and dates them. */
const PLATFORM_TOKEN_REASONS = new Map<string, (refusal: RefusalRecord, workload: Workload) => Explanation>(
  Object.entries({
    assertion_malformed: (_, { issuer }) => ({
      reason: 'client_assertion was not a JWT that identifies a workload.',
      advice: `Send client_assertion_type=urn:ietf:params:oauth:client-assertion-type:jwt-bearer, and a token of ${issuer} as it is. Its typ is JWT or left out, and its exp and iat are numbers.`,
    }),
    assertion_wrong_algorithm: (_, { issuer }) => ({
      reason: `${issuer} has no key for the token's alg.`,
      advice: 'Have your platform sign with RS256, PS256, ES256, ES384 or EdDSA, and publish the key for it.',
    }),
    assertion_wrong_key: (_, { issuer }) => ({
      reason: 'The token was signed with another key.',
      advice: `Send a token that ${issuer} signed, as it is.`,
    }),
    assertion_wrong_audience: ({ about }) => ({
      reason: `The token was for a different server, or for several${claimValue(about)}.`,
      advice:
        'Request the token from your platform for the base URL of this service alone. Where the platform sets aud itself, use a client with a key pair.',
    }),
    assertion_from_the_future: ({ about }) => ({
      reason: `iat or nbf was ${duration(about)} ahead of our clock.`,
      advice: "Synchronize your platform's clock.",
    }),
    assertion_no_exp: () => ({
      reason: 'The token had no exp.',
      advice: 'Have your platform make tokens that expire, or use a client with a key pair.',
    }),
    assertion_expired: ({ about }, { platform }) => ({
      reason: `The token had expired ${duration(about)} before.`,
      advice: newPlatformToken(platform),
    }),
    assertion_too_far_ahead: ({ about }, { platform }) => ({
      reason: `The token lives for more than an hour: exp was ${duration(about)} ahead of our clock.`,
      advice: SHORTER_LIVES[platform ?? ''] ?? SHORTER_LIFE,
    }),
    assertion_no_jti: () => ({
      reason: 'The token had no jti of 1 to 255 characters.',
      advice:
        'Send the token as your platform made it, or create a replacement client for its true platform.',
    }),
    assertion_replayed: (_, { platform }) => ({
      reason: 'This token was used before.',
      advice: newPlatformToken(platform),
    }),
  } satisfies Record<string, (refusal: RefusalRecord, workload: Workload) => Explanation>),
)

type Workload = NonNullable<ClientRecord['workload']>

const newPlatformToken = (platform: Workload['platform']): string =>
  platform === 'gitlab'
    ? 'A job has one token for each entry of id_tokens. Reuse the access token while it is valid, or add an entry.'
    : 'Get a new token from your platform for each token request, retries included.'

const SHORTER_LIFE =
  'Your platform sets exp. Have it make tokens for an hour or less, such as by expirationSeconds in Kubernetes, or use a client with a key pair.'
const SHORTER_LIVES: Record<string, string> = {
  gitlab: 'GitLab sets exp by the timeout of the job: set timeout: 1h or less in the job.',
  buildkite: 'Request the token with a --lifetime of 3600 or less.',
}

/**
 * For refused tokens of platforms. The value of a claim is shown only if the token's signature was valid,
 * since a forged one can have any text.
 */
function workloadReasons(): Reasons {
  const issuerOf = (client: ClientRecord | undefined) => client?.workload?.issuer ?? 'its issuer'
  return {
    workload_wrong_claim: ({ about = '' }, client) => {
      const [name = ''] = about.split(' ', 1)
      const { issuer, claims } = client?.workload ?? { issuer: '', claims: {} as Record<string, string> }
      const expected = name === 'iss' ? issuer : claims[name]
      const isMissing = about === name
      return {
        reason: `${isMissing ? `The token has no claim ${name}` : `The claim ${name} of the token differs${claimValue(about)}`}. The client has ${expected}.`,
        advice: `${isMissing ? 'Have your platform put it there' : 'Compare them character by character'}. If the client is wrong, create a replacement client.`,
      }
    },
    workload_unknown_key: (_, client) => ({
      reason: `The token names a key that ${issuerOf(client)} is not known to have.`,
      advice:
        'Check that the token is from this issuer. A new key is known about ten minutes after it is published, or within an hour if no client got a token by its keys in the last day.',
    }),
    workload_no_kid: (_, client) => ({
      reason: `The token names no key, and ${issuerOf(client)} has several for its alg.`,
      advice: 'Have your platform write kid into the header of its tokens, or publish one key for each alg.',
    }),
    workload_old_keys: (_, client) => ({
      reason: `The keys of ${issuerOf(client)} could not be fetched for 24 hours.`,
      advice: 'Make its discovery document and its keys reachable from the internet.',
    }),
  }
}

/** @param about the name of a claim, and its value if there was one. */
function claimValue(about = ''): string {
  const space = about.indexOf(' ')
  return space < 0 ? '' : `: it was ${about.slice(space + 1)}`
}

const DECADE_S = 10 * 365 * 86_400
const UNITS: [name: string, size_s: number][] = [
  ['days', 86_400],
  ['hours', 3_600],
  ['minutes', 60],
]

/** Returns seconds in words, in the largest unit of which there are at least two. */
function duration(text: string | undefined): string {
  const seconds = Number(text)
  if (seconds > DECADE_S) return 'more than 10 years'
  for (const [name, size_s] of UNITS)
    if (seconds >= 2 * size_s) return `${Math.round(seconds / size_s).toLocaleString('en')} ${name}`
  return seconds === 1 ? '1 second' : `${seconds} seconds`
}

function revoked(_: RefusalRecord, client: ClientRecord | undefined): Explanation {
  if (!client?.revokedAt)
    return { reason: 'The access token or its signing key was revoked.', advice: NEW_TOKEN }
  return {
    reason: `The client was revoked at ${client.revokedAt.toISOString()} by ${actorName(revokerAnswer(client))}.`,
    advice: client.replacedBy
      ? `Deploy its replacement, ${client.replacedBy}, or create one if that is revoked too.`
      : REPLACE,
  }
}

/** For a token request. `about`: the scopes that the client does not have, separated by commas. */
function scopeNotAssigned({ about }: RefusalRecord, client: ClientRecord | undefined): Explanation {
  if (about !== undefined) {
    const scopes = about.includes(', ') ? 'them' : 'it'
    return {
      reason: `The client does not have ${about}.`,
      advice: `Leave ${scopes} out of the token request, or create a replacement client with ${scopes}.`,
    }
  }
  const has = client ? `: ${client.scopes.join(' ')}` : ''
  return {
    reason: 'scope was missing, repeated a scope, or named something that is not a scope.',
    advice: `Name one or more of the client's scopes, separated by single spaces${has}.`,
  }
}

/** For a token without the scope `about`. */
function scopeLacking({ about }: RefusalRecord, client: ClientRecord | undefined): Explanation {
  const reason = `The access token lacks the scope ${about ?? 'of this route'}.`
  const has = client?.scopes.some((scope) => scope === about)
  const advice = has
    ? 'The client has this scope. Name it in the token request.'
    : 'The client does not have this scope. Create a replacement client with it.'
  return { reason, advice }
}
