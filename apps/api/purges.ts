import type { Log } from '#shared/process/log.ts'
import { type EventSettings, listEventPurges } from './analytics/event-partitions.ts'
import { IDEMPOTENCY_KEY_PURGE } from './clients/idempotency-keys.ts'
import { MAIL_PURGE, UNSENT_MAIL_PURGE } from './mail/outbox.ts'
import type { MailSettings } from './mail/settings.ts'
import { INVITATION_PURGE } from './people/invitations.ts'
import { PASSWORD_RESET_PURGE } from './sessions/password-resets.ts'
import { createSessionPurge } from './sessions/session-events.ts'
import { SIGN_IN_PURGES } from './sessions/sign-in-addresses.ts'
import type { Purge } from './stores/purge.ts'
import { USAGE_PURGES } from './usage/purge.ts'

/** Returns the purges that the jobs run. Another deletes revocations: see start-reconciling.ts. */
export const listPurges = (
  settings: EventSettings & { mail?: MailSettings | undefined },
  log: Log,
): Purge[] => [
  createSessionPurge(log),
  INVITATION_PURGE,
  MAIL_PURGE,
  ...(settings.mail ? [] : [UNSENT_MAIL_PURGE]),
  PASSWORD_RESET_PURGE,
  ...SIGN_IN_PURGES,
  IDEMPOTENCY_KEY_PURGE,
  ...USAGE_PURGES,
  ...listEventPurges(settings),
]
