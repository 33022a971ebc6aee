import { z } from 'zod'
import {
  addressRangeList,
  ConfigError,
  commonShape,
  httpUrl,
  integer,
  rate,
  readServiceConfig,
} from '#shared/process/config.ts'
import { EVENT_SHAPE } from './analytics/event-partitions.ts'
import { type MailSettings, mailSettings, mailShape } from './mail/settings.ts'
import {
  type OpenidSettings,
  openidSettings,
  openidShape,
  openidShapeFor,
} from './sign-in-openid/settings.ts'

export const apiShape = {
  ...commonShape,
  PORT: integer(0, 65_535, 8082).meta({ description: 'port to listen on' }),
  /** At least one connection for each of the pools in compose.ts, and three for decisions. */
  DATABASE_POOL_SIZE: integer(5, 200, 13).meta({
    description:
      'maximum connections per process: 3 are for revocation checks, and the workspace gets at most half of the others',
  }),
  JWKS_URL: httpUrl.optional().meta({
    fallback: '`ISSUER` + `/v1/oauth/jwks`',
    description: 'where to fetch the public keys of the authorization server',
  }),
  SECURITY_CONTACT: z
    .string()
    .regex(
      /^(?:mailto:[^\s@<>()[\]"`]+@[^\s@<>()[\]"`]+|https:\/\/[^\s<>()[\]"`]+)$/,
      'must be a mailto: or https:// address, such as mailto:security@example.com',
    )
    .optional()
    .meta({
      fallback: 'none',
      description:
        'where to report vulnerabilities, published in `/.well-known/security.txt` and `/docs/security`; without it there is no `security.txt`, since RFC 9116 requires a contact',
    }),
  ...EVENT_SHAPE,
  SESSION_IDLE_MINUTES: integer(5, 720, 120).meta({
    unit: 'minutes',
    description:
      'how long a session may go unused before it ends (an open page uses it until 5 minutes after the last input); it lasts 12 hours at most',
  }),
  RATE_API_PER_CLIENT: rate('6000/60').meta({ description: 'API requests by a client' }),
  RATE_API_EVENTS_PER_CLIENT: rate('600000/60').meta({
    description: 'events reported by a client; a call that would exceed the limit is refused entirely',
  }),
  RATE_SIGN_IN_PER_ACCOUNT: rate('20/300').meta({
    description: 'sign-ins to one account from one address, or from one browser that it knows',
  }),
  RATE_SIGN_IN_PER_ADDRESS: rate('100/300').meta({
    description: 'sign-ins from an address (IPv6: a /64; twice as many from a /56, four times from a /48)',
  }),
  RATE_SIGN_IN_STRANGERS_PER_ACCOUNT: rate('100/86400').meta({
    description:
      'failed sign-ins to one account from all strangers together: browsers that its owner has not signed in from in the last 400 days, at addresses not used in the last 30. Counted apart: changes of the password of an account whose address has others. Accounts share 262,144 counters',
  }),
  RATE_PASSWORD_RESET_PER_ACCOUNT: rate('3/3600').meta({
    description:
      'requests for a new password of one account, each also a sign-in from its address; and, counted apart, changes of its password by someone who is signed in',
  }),
  RATE_SESSION_GUESSES_PER_ADDRESS: rate('300/60').meta({
    description: 'wrong session tokens and links from an address (IPv6: a /64)',
  }),
  RATE_API_PER_SESSION: rate('1200/60').meta({
    description:
      'requests in a session; one for more than 50 entries counts once per 50 entries or part thereof, and one that explains a request that was not refused counts as 26',
  }),
  RATE_CHANGES_PER_COMPANY: rate('1200/3600').meta({
    description:
      'changes by the people of a company: new and renamed clients, saved callbacks; and, counted apart, people',
  }),
  RATE_INVITATION_MAILS_PER_COMPANY: rate('100/86400').meta({
    description: 'invitations that are mailed for a company',
  }),
  RATE_CLIENT_CREATIONS_PER_COMPANY: rate('600/86400').meta({ description: 'new clients of a company' }),
  RATE_FOUND_SECRETS_PER_ADDRESS: rate('60/60').meta({
    description:
      'reports of found secrets from an address (IPv6: a /64; a /56 may send twice, a /48 four times as many); one counts once for each 8 KiB',
  }),
  RATE_CALLBACK_TEST_PER_COMPANY: rate('20/60').meta({ description: 'test events for a company' }),
  FOUND_SECRETS: z.enum(['mark', 'revoke']).default('mark').meta({
    description:
      'what follows when a client secret is reported as found: `mark` warns the company in its workspace and, with SMTP_URL, by mail, `revoke` also revokes the client within seconds, and those marked before',
  }),
  CALLBACK_DENY_RANGES: addressRangeList.meta({
    description:
      'more addresses and ranges that nothing is sent to (test events, requests for the keys of issuers), besides all non-public ones: your own public addresses, a NAT64 prefix',
  }),
  ...mailShape,
  ...openidShape,
}

export type ApiConfig = Readonly<z.infer<z.ZodObject<typeof apiShape>>> & {
  /** Where the authorization server publishes its keys. */
  readonly JWKS_URL: string
  /** The OpenID provider that people may sign in with, if there is one. */
  readonly openid: OpenidSettings | undefined
  /** How mail is sent, if it is. */
  readonly mail: MailSettings | undefined
}

/** @throws ConfigError naming every variable that is missing or wrong. */
export function readApiConfig(env: Record<string, string | undefined>): ApiConfig {
  const config = readServiceConfig(env, { ...apiShape, ...openidShapeFor(env) })
  if (config.EVENT_IDS_REMEMBERED_DAYS > config.EVENT_RETENTION_DAYS)
    throw new ConfigError(
      'The configuration is invalid:\n  EVENT_IDS_REMEMBERED_DAYS: must be at most EVENT_RETENTION_DAYS',
    )
  const JWKS_URL = config.JWKS_URL ?? `${config.ISSUER}/v1/oauth/jwks`
  return Object.freeze({ ...config, JWKS_URL, openid: openidSettings(config), mail: mailSettings(config) })
}
