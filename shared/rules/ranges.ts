/** Plain data, which the workspace shows too: how many days one answer has at most. */
export const RANGE_MAX_DAYS = 366
