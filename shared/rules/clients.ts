/** Plain data, which the workspace shows too. */
export const CLIENT_NAME_MAX_CHARACTERS = 100

/** Of each client and day (UTC), tokens are counted by address for so many, the first ones. */
export const ADDRESSES_PER_DAY_MAX = 200
