import type { Metrics } from '#shared/process/metrics.ts'
import { rateLimits } from '#shared/stores/rate-limit.ts'
import type { RedisOrCluster } from '#shared/stores/redis.ts'
import type { ApiConfig } from './config.ts'
import { PENDING_SIGN_IN_LIFETIME_S } from './sign-in-openid/pending-sign-in.ts'
import { addressLimits } from './stores/address-limits.ts'

/**
 * Returns the rate limits of the resource API, as the settings have them. Access checks count
 * requestsPerClient, requestsPerSession, sessionGuessesPerAddress, changesPerCompany, callbackTestsPerCompany
 * and foundSecretsPerAddress. Handlers count the others, and sessionGuessesPerAddress for the tokens of
 * links.
 */
export function createLimits(config: ApiConfig, redis: RedisOrCluster, metrics: Metrics) {
  const limit = rateLimits(redis, metrics)
  return {
    requestsPerClient: limit('api-client', config.RATE_API_PER_CLIENT),
    eventsPerClient: limit('api-events', config.RATE_API_EVENTS_PER_CLIENT),
    requestsPerSession: limit('api-session', config.RATE_API_PER_SESSION),
    sessionGuessesPerAddress: limit('session-guesses', config.RATE_SESSION_GUESSES_PER_ADDRESS),
    signInLimits: {
      perAccount: limit('sign-in-account', config.RATE_SIGN_IN_PER_ACCOUNT),
      perAddress: addressLimits(
        limit,
        ['sign-in-address', 'sign-in-56', 'sign-in-48'],
        config.RATE_SIGN_IN_PER_ADDRESS,
      ),
      strangersPerAccount: limit('sign-in-strangers', config.RATE_SIGN_IN_STRANGERS_PER_ACCOUNT),
      resetsPerAccount: limit('password-resets', config.RATE_PASSWORD_RESET_PER_ACCOUNT),
    },
    // A guard against replay, built on a rate limit: each sign-in is finished once while it may be pending.
    openidOnce: limit('openid-once', { limit: 1, window_s: PENDING_SIGN_IN_LIFETIME_S }),
    changesPerCompany: limit('changes', config.RATE_CHANGES_PER_COMPANY),
    invitationMailsPerCompany: limit('invitation-mails', config.RATE_INVITATION_MAILS_PER_COMPANY),
    clientCreationsPerCompany: limit('client-creations', config.RATE_CLIENT_CREATIONS_PER_COMPANY),
    callbackTestsPerCompany: limit('callback-test', config.RATE_CALLBACK_TEST_PER_COMPANY),
    foundSecretsPerAddress: addressLimits(
      limit,
      ['found-secrets', 'found-secrets-56', 'found-secrets-48'],
      config.RATE_FOUND_SECRETS_PER_ADDRESS,
    ),
  }
}
