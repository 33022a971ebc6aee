/** Plain data, which the workspace shows too. */
export const CLIENT_NAME_MAX_CHARACTERS = 100

/** Tokens are counted by address for the first 200 addresses of a client and day (UTC). */
export const ADDRESSES_PER_DAY_MAX = 200

/** Addresses of a client are known for this long after the end of a day. */
export const ADDRESS_DAYS_KEPT = 100
