/** The `event` of a log line. The runbook's table explains each (infra/runbook/failures.md). */
export type Event = (typeof AUDITED | typeof NOT_AUDITED)[number]

/** Kept for later investigations; the local stack keeps them at any LOG_LEVEL. */
// biome-ignore format: names of a list, not lines of a program.
export const AUDITED = [
  'activity', 'callback.refused', 'callback.tested', 'client.revoked', 'clock.unknown', 'clock.wrong',
  'clocks.apart', 'database.promoted', 'database.restored', 'password.changed',
  'password_reset.requested', 'request.refused', 'secret.found', 'session.ended', 'sign_in.failed', 'sign_in.succeeded',
  'signing_key.active', 'signing_key.revoked', 'signing_key.unreadable', 'token.issued', 'token.revoked',
] as const

// biome-ignore format: as above.
export const NOT_AUDITED = [
  'answer.not_sent', 'callback.not_recorded', 'housekeeping.done',
  'housekeeping.failed', 'mail.given_up', 'mail.sent', 'mail.unusable', 'mail.usable', 'process.replaced', 'proxy.unreadable', 'proxy.untrusted', 'redis.new',
  'redis.not_trusted', 'redis.trusted', 'redis.unusable', 'redis.usable', 'request.answered',
  'request.failed', 'revocations.not_fetched', 'secret_report.lost', 'service.listening',
  'service.not_ready', 'service.ready',
  'signing_keys.not_fetched', 'signing_keys.not_read', 'store.unencrypted',
  'store.unverified', 'usage.lost', 'workload_issuer.failed',
] as const
