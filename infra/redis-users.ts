/*
 * What each service's Redis user may do, command by command: the local stack configures its server with these, and
 * so must production. Redis 7 or newer, Valkey too.
 *
 * None of them may flush, delete, rename or expire anything of the revocation protocol, and the authorization
 * server can neither mark a server as trusted nor touch the entry of a client or a key. One thing cannot be said in
 * an ACL: a user that may SET an entry may give it a new and shorter life (the authorization server: tokens only).
 * The services never do, and the reconciler sends every entry again, with its full life, within half a minute.
 */

/** Connect, run scripts (each command of one is judged as if it came alone), count against rates, ask, note refusals. */
const COMMON = [
  'resetkeys resetchannels -@all',
  '+auth +hello +ping +quit +info +time +client|setname',
  '~rate:* +eval +set +incrby +pttl',
  '(%R~revoked:* %R~revocation:marker +get +mget)',
  '(%RW~revocation:tick +incr)',
  '(~refusals:* +lpush +ltrim +pexpire +zadd +zremrangebyscore +zremrangebyrank)',
]

export const REDIS_USER_RULES = {
  auth: [...COMMON, '(%W~revoked:token:* +set)', '(~usage:* +eval +hincrby +hset)'].join(' '),
  api: [
    ...COMMON,
    '(%W~revoked:client:* %W~revoked:token:* %W~revoked:key:* +set)',
    '+scan',
    '(%RW~revocation:marker %RW~revocation:seen %RW~revocation:nonce:* +get +set +pttl)',
    '(~usage:* +eval +hincrby +hmget +hscan +renamenx +del)',
    '(%R~refusals:* +lrange +zrange)',
  ].join(' '),
} as const
