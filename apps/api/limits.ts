import type { Metrics } from '#shared/process/metrics.ts'
import { addressLimits } from '#shared/stores/address-limits.ts'
import { rateLimits } from '#shared/stores/rate-limit.ts'
import type { Redis } from '#shared/stores/redis.ts'
import type { ApiConfig } from './config.ts'
import { OPENID_TRANSACTION_LIFETIME_S } from './sessions/openid-transaction.ts'

export type Limits = ReturnType<typeof createLimits>

export function createLimits(config: ApiConfig, redis: Redis, metrics: Metrics) {
  const limit = rateLimits(redis, metrics)
  return {
    apiPerClient: limit('api-client', config.RATE_API_PER_CLIENT),
    apiEventsPerClient: limit('api-events', config.RATE_API_EVENTS_PER_CLIENT),
    signInPerAccount: limit('sign-in-account', config.RATE_SIGN_IN_PER_ACCOUNT),
    signInPerAddress: addressLimits(
      limit,
      ['sign-in-address', 'sign-in-56', 'sign-in-48'],
      config.RATE_SIGN_IN_PER_ADDRESS,
    ),
    signInStrangersPerAccount: limit('sign-in-strangers', config.RATE_SIGN_IN_STRANGERS_PER_ACCOUNT),
    openidOnce: limit('openid-once', { limit: 1, window_s: OPENID_TRANSACTION_LIFETIME_S }),
    sessionGuessesPerAddress: limit('session-guesses', config.RATE_SESSION_GUESSES_PER_ADDRESS),
    apiPerSession: limit('api-session', config.RATE_API_PER_SESSION),
    callbackTestPerCompany: limit('callback-test', config.RATE_CALLBACK_TEST_PER_COMPANY),
    foundSecretsPerAddress: addressLimits(
      limit,
      ['found-secrets', 'found-secrets-56', 'found-secrets-48'],
      config.RATE_FOUND_SECRETS_PER_ADDRESS,
    ),
    changesPerCompany: limit('changes', config.RATE_CHANGES_PER_COMPANY),
    clientCreationsPerCompany: limit('client-creations', config.RATE_CLIENT_CREATIONS_PER_COMPANY),
  }
}
