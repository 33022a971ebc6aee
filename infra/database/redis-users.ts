/*
 * What each service's Redis user may do, command by command: the local stack configures its server with these, and
 * so must production. Redis 7 or newer, Valkey too.
 *
 * None of them may flush, delete, rename or expire anything of the revocation protocol, and the authorization
 * server can neither mark a server as trusted nor touch the entry of a client or a key. One thing cannot be said in
 * an ACL: a user that may SET an entry may give it a new and shorter life (the authorization server: tokens only).
 * The services never do, and the reconciler sends every entry again, with its full life, within half a minute.
 */

/** Connect, and ask about revocations: all that a service does that only verifies tokens. Its scripts name no KEYS. */
const ASK = [
  'resetkeys resetchannels -@all',
  '+auth +hello +ping +quit +info +client|setname +eval',
  '(%R~revoked:* %R~revocation:marker +get +mget)',
  '(%RW~revocation:tick +incr)',
]

/** What both services do besides: count against rates, and note refusals. */
const COMMON = [
  ...ASK,
  '+time ~rate:* +set +incrby +pttl',
  '(~refusals:* +set +del +zadd +zrem +zcard +zpopmin +pexpire)',
]

export const REDIS_USER_RULES = {
  auth: [...COMMON, '(%W~revoked:token:* +set)', '(~usage:* +eval +hincrby +hset)'].join(' '),
  api: [
    ...COMMON,
    '(%W~revoked:client:* %W~revoked:token:* %W~revoked:key:* +set)',
    '+scan',
    '(%RW~revocation:marker %RW~revocation:seen %RW~revocation:nonce:* +get +set +pttl)',
    '(~usage:* +eval +hincrby +hmget +hscan +renamenx +del)',
    '(%R~refusals:* +get +mget +zrange)',
  ].join(' '),
  /** For other services of the company: shared/access-tokens. */
  verifier: ASK.join(' '),
} as const

/** What the servers need of each other where there is Sentinel: its users on the data servers, not on the Sentinels. */
export const SENTINEL_USER_RULES = {
  replication: 'resetkeys resetchannels -@all +ping +psync +replconf',
  sentinel:
    'resetkeys resetchannels -@all &__sentinel__:hello +ping +info +role +multi +exec +slaveof +config|rewrite +client|setname +client|kill +script|kill +publish +subscribe',
} as const
