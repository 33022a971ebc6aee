import type { ClientRecord } from '#shared/oauth/clients.ts'
import type { RefusalRecord } from '#shared/usage/client-usage.ts'
import { actorOf } from '../http/schemas.ts'

/** Why a request was refused and what to do about it, for a person in the client's company. */
export interface Explanation {
  reason: string
  advice: string
}

const REPLACE = 'Create a replacement client and deploy it.'
const NEW_TOKEN = 'Request a new token from the token endpoint. A token is valid for 15 minutes.'
const SETTINGS = 'Check the base URL in the configuration of your system.'
const CLOCK = 'Report to the operator of this service that a clock is wrong.'

/** Keyed by the service's internal reason. */
const REASONS: Record<string, Explanation> = {
  no_secret: { reason: 'No client secret was sent.', advice: 'Send client_secret, or use HTTP Basic.' },
  failures_of_address: {
    reason: 'That address sent too many wrong secrets, including this one.',
    advice: 'Correct the secret, then wait for the time in Retry-After.',
  },
  rate_of_client: {
    reason: 'The client sent more requests than its limit allows.',
    advice: 'Reuse a token until it expires, and wait for the time in Retry-After.',
  },
  rate_limited: {
    reason: 'The client sent more requests than its limit allows.',
    advice: 'Send fewer requests, and wait for the time in Retry-After.',
  },
  expired: { reason: 'The access token had expired.', advice: NEW_TOKEN },
  issuer: { reason: 'The access token is from a different issuer.', advice: SETTINGS },
  audience: { reason: 'The access token is for a different API.', advice: SETTINGS },
  issued_in_future: { reason: 'The access token was issued in the future.', advice: CLOCK },
  not_yet_valid: { reason: 'The access token is not valid yet.', advice: CLOCK },
  unsupported_grant_type: {
    reason: 'grant_type was not client_credentials.',
    advice: 'Send grant_type=client_credentials.',
  },
  invalid_target: {
    reason: 'resource named a different API.',
    advice: 'Leave resource out of the token request, or send the identifier of this API.',
  },
  forbidden: {
    reason: "The path names a different company from the client's.",
    advice: 'Put the id of your own company in the path.',
  },
}

/** @param client undefined if it could not be read. */
export function explain(
  { reason, code, about }: RefusalRecord,
  client: ClientRecord | undefined,
): Explanation {
  switch (reason) {
    case 'wrong_secret':
      return {
        reason: 'The client secret was wrong.',
        advice: client?.secretHint
          ? `Check that the deployed secret ends in ${client.secretHint}. If it is lost, create a replacement client.`
          : 'Check the deployed secret. If it is lost, create a replacement client.',
      }
    case 'revoked_client':
    case 'revoked':
      return revoked(client)
    case 'invalid_scope':
      return scopeNotAssigned(about, client)
    case 'insufficient_scope':
      return scopeLacking(about, client)
    case 'invalid_input':
      return {
        reason: about === undefined ? 'A field was invalid.' : `A field was invalid: ${about}.`,
        advice: 'The errors in the response name each invalid field and the reason.',
      }
    default:
      return (
        REASONS[reason] ?? {
          reason: `The request was refused with ${code}.`,
          advice: 'The documentation explains this code.',
        }
      )
  }
}

function revoked(client: ClientRecord | undefined): Explanation {
  if (!client?.revokedAt) {
    return { reason: 'The access token or its signing key was revoked.', advice: NEW_TOKEN }
  }
  const { name } = actorOf(client.revokedBy, client.revokedByName)
  return { reason: `${name} revoked the client at ${client.revokedAt.toISOString()}.`, advice: REPLACE }
}

/** Explains a token request. @param scopes the scopes that the client does not have, separated by commas. */
function scopeNotAssigned(scopes: string | undefined, client: ClientRecord | undefined): Explanation {
  if (scopes !== undefined) {
    return {
      reason: `The client does not have ${scopes}.`,
      advice: 'Leave it out of the token request, or create a replacement client with it.',
    }
  }
  const has = client ? `: ${client.scopes.join(' ')}` : ''
  return {
    reason: 'scope was missing, repeated a scope, or named something that is not a scope.',
    advice: `Name one or more of the client's scopes, separated by single spaces${has}.`,
  }
}

function scopeLacking(scope: string | undefined, client: ClientRecord | undefined): Explanation {
  const reason = `The access token lacks the scope ${scope ?? 'of this route'}.`
  const has = client?.scopes.some((one) => one === scope)
  const advice = has
    ? 'The client has this scope. Name it in the token request.'
    : 'The client does not have this scope. Create a replacement client with it.'
  return { reason, advice }
}
