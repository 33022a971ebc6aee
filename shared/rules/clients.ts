/** Plain data, which the workspace shows too. */
export const CLIENT_NAME_MAX_CHARACTERS = 100
