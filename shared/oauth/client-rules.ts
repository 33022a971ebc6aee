/** Plain data, which the workspace shows too. */
export const CLIENT_NAME_MAX_CHARACTERS = 100
/** How long an armed revocation waits without a use, at most. */
export const QUIET_DAYS_MAX = 60
