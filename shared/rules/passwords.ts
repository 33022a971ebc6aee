/** Plain data, which the workspace shows too. */
export const PASSWORD_MIN_CHARACTERS = 12
