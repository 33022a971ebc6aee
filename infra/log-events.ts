/** A log line as listed in the runbook. */
interface LogLine {
  service: 'auth' | 'API' | 'both' | 'admin'
  /** Several if a line has several levels. */
  level: string
  fields?: string
  /** Whether the audit trail keeps it for later investigations, at any log level. */
  audit?: true
  /** When an operator should look at it. */
  alert?: string
}

/** Every event, keyed by its `event` field. */
const LOG_EVENTS: Readonly<Record<string, LogLine>> = {
  'token.issued': {
    service: 'auth',
    level: 'info',
    fields: '`clientId`, `vendorId`, `jti`, `kid`, `scope`',
    audit: true,
  },
  'token.revoked': { service: 'auth', level: 'info', fields: '`clientId`, `jti`', audit: true },
  'request.refused': {
    service: 'auth',
    level: 'info',
    fields: '`path`, `clientId`, `status`, `error`, `reason`',
    audit: true,
    alert: 'many from one address',
  },
  'request.failed': { service: 'auth', level: 'warn', fields: '`path`, `error`', alert: 'any: a bug' },
  'client.revoked': {
    service: 'API',
    level: 'info',
    fields: '`clientId`: by each process when it learns of it, and again after its start',
    audit: true,
  },
  'signing_key.revoked': {
    service: 'API',
    level: 'info',
    fields: '`kid`: by each process when it learns of it, and again after its start',
    audit: true,
  },
  'database.restored': {
    service: 'API',
    level: 'error',
    fields: '`reason`',
    audit: true,
    alert: 'any: see Backup and restore',
  },
  'database.promoted': {
    service: 'API',
    level: 'warn',
    audit: true,
    alert: 'if it lasts: see Backup and restore',
  },
  'signing_key.active': {
    service: 'auth',
    level: 'info',
    fields: '`kid`',
    audit: true,
    alert: 'unless after a rotation',
  },
  'signing_key.unreadable': { service: 'auth', level: 'error', fields: '`kid`', audit: true, alert: 'any' },
  'clock.wrong': {
    service: 'auth',
    level: 'error',
    fields: '`postgres_ms`, `redis_ms`: how far their clocks are ahead',
    audit: true,
    alert: 'each: set the clock of the machine',
  },
  'clock.unknown': {
    service: 'auth',
    level: 'warn',
    fields: '`postgres_ms`, `redis_ms`; the store without a value did not say',
    audit: true,
    alert: 'each: see why that store does not answer',
  },
  'signing_keys.not_read': { service: 'auth', level: 'warn', fields: '`error`', alert: 'while it lasts' },
  'redis.unusable': { service: 'both', level: 'warn', fields: '`redis`, `reason`', alert: 'any' },
  'redis.usable': { service: 'both', level: 'info', fields: '`redis`' },
  'store.unencrypted': {
    service: 'both',
    level: 'warn',
    fields: '`variable`',
    alert: 'any, unless the network between is yours alone',
  },
  'proxy.untrusted': {
    service: 'both',
    level: 'warn',
    fields: '`peer`',
    alert: 'any: name the proxy in TRUSTED_PROXIES',
  },
  'setting.unknown': { service: 'both', level: 'warn', fields: '`variable`, `didYouMean`', alert: 'any' },
  'sign_in.succeeded': {
    service: 'API',
    level: 'info',
    fields: '`userId`, `sessionId`, `clientAddress`; `how`: `password`, `invitation` or `openid`',
    audit: true,
  },
  'sign_in.failed': {
    service: 'API',
    level: 'info',
    fields: '`clientAddress`; `account` (a keyed hash), or, with an OpenID provider, `reason` and `about`',
    audit: true,
    alert: 'many for one account; `reason` `unreachable` or `not_trusted`',
  },
  'password.changed': { service: 'API', level: 'info', fields: '`userId`', audit: true },
  'session.ended': {
    service: 'API',
    level: 'info',
    fields:
      '`userId`, `sessionId`; `why`: `signed_out`, `signed_out_everywhere` or `password_changed`, with `clientAddress`, or `expired`',
    audit: true,
  },
  'callback.tested': {
    service: 'API',
    level: 'info',
    fields: '`vendorId`, `outcome`, `status`; `code`, `host`, `addressReason`',
    audit: true,
  },
  'callback.refused': {
    service: 'API',
    level: 'info',
    fields: '`code`, `host`, `addressReason`',
    audit: true,
  },
  'operator.acted': {
    service: 'admin',
    level: 'info',
    fields:
      '`operator`, `osUser`, `action`, `subject`, `vendorId`: see [Operator tasks](../README.md#operator-tasks)',
    audit: true,
    alert: 'any that no one announced',
  },
}

/** Lines without an event, keyed by `msg`. */
const OTHER_LINES: Readonly<Record<string, LogLine>> = {
  request: {
    service: 'API',
    level: 'info',
    fields: '`method`, `route`, `status`, `problem`, `vendorId`, `userId`, `clientId`, `duration_ms`',
    alert: 'status 500',
  },
  'request failed': { service: 'API', level: 'error', fields: '`problem`, the error', alert: 'any' },
  'the signing keys could not be fetched': {
    service: 'API',
    level: 'warn',
    fields: '`url`, `reason`, `usable`',
    alert: '`usable` false',
  },
  'revocation: Redis cannot be vouched for': {
    service: 'API',
    level: 'warn',
    fields: '`why`',
    alert: 'while it lasts',
  },
  'a process ended and is replaced': {
    service: 'both',
    level: 'error',
    fields: '`worker`, `code`, `signal`',
    alert: 'any',
  },
}

export const EVENT_NAMES: readonly string[] = Object.keys(LOG_EVENTS)

/** The events of the audit trail. */
export const AUDIT_EVENTS: ReadonlySet<string> = new Set(
  EVENT_NAMES.filter((name) => LOG_EVENTS[name]?.audit),
)

/** The runbook's table of the log, as Markdown. */
export function logTable(): string {
  const rows = Object.entries({ ...LOG_EVENTS, ...OTHER_LINES }).map(
    ([name, { service, level, fields = '', audit, alert = '' }]) =>
      `| ${[`\`${name}\``, service, level, fields, audit ? 'yes' : '', alert].map((cell) => cell && `${cell} `).join('| ')}|`,
  )
  return [
    '| `event`, or `msg` | service | level | fields | audit | alert |',
    '|---|---|---|---|---|---|',
    ...rows,
  ].join('\n')
}
