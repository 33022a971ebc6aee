/*
 * The access rules of each service's Redis user, command by command. The local stack configures its server
 * with them, and production must do the same. They need Redis 7 or newer, or Valkey.
 *
 * No user may flush, delete, rename or expire anything of the revocation protocol. The authorization server
 * can neither mark a server as trusted nor touch the entry of a client or a key. An ACL cannot express one
 * limit: a user that may SET an entry may shorten its lifetime (the authorization server: only for tokens).
 * The services never do, and the reconciler sends every entry again, with its full lifetime, within half a
 * minute.
 */

/**
 * Both services read revocations, count against rate limits, and record requests. Scripts of the first name
 * no KEYS. The second line is for RATE_REDIS_URL=redis+cluster://….
 */
const COMMON = [
  'resetkeys resetchannels -@all',
  '+auth +hello +ping +quit +info +client|setname +eval',
  '+cluster|slots +asking',
  '(%R~revoked:* %R~revocation:marker +get +mget)',
  '(%RW~revocation:tick +incr)',
  '+time ~rate:* +set +incrby +pttl',
  '(~refusals:* ~requests:* +eval +set +del +lpush +ltrim +pexpire ' +
    '+zadd +zrem +zcard +zrange +zpopmin +zremrangebylex +zremrangebyrank)',
]

export const REDIS_USER_RULES = {
  auth: [...COMMON, '(%W~revoked:token:* %W~assertion:* +set)', '(%RW~revocation:page:* +get +set)'].join(
    ' ',
  ),
  api: [
    ...COMMON,
    '(%W~revoked:client:* %W~revoked:token:* %W~revoked:key:* +set)',
    '+scan',
    '(%RW~revocation:marker %RW~revocation:seen %RW~revocation:nonce:* +get +set +pttl)',
    '(%R~refusals:* +mget)',
    '(%R~requests:* +get +lrange)',
  ].join(' '),
} as const

/** Users that Sentinel needs on the data servers (not on the Sentinels). */
export const SENTINEL_USER_RULES = {
  replication: 'resetkeys resetchannels -@all +ping +psync +replconf',
  sentinel:
    'resetkeys resetchannels -@all &__sentinel__:hello +ping +info +role +multi +exec +slaveof ' +
    '+config|rewrite +client|setname +client|kill +script|kill +publish +subscribe',
} as const
