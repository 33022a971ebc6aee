/** That a route has been replaced. */
export interface Deprecation {
  /** A day, such as `2027-01-31`. */
  since: string
  /** The first day on which the route may no longer answer. */
  until: string
  /** What to use instead, as a sentence. */
  instead: string
}

/** What /docs/versioning promises. */
const NOTICE_MIN_MS = 365 * 24 * 3_600_000

/**
 * Returns the header fields of every answer of a deprecated route (RFC 9745, RFC 8594): names and values in turn.
 * @throws Error if the dates are invalid or less than a year apart.
 */
export function deprecationFields({ since, until }: Deprecation, apiResource: string): readonly string[] {
  const [since_ms, until_ms] = [Date.parse(since), Date.parse(until)]
  if (!(until_ms - since_ms >= NOTICE_MIN_MS))
    throw new Error(`a route is deprecated with less than a year's notice: ${since} to ${until}`)
  return [
    'Deprecation',
    `@${since_ms / 1_000}`,
    'Sunset',
    new Date(until_ms).toUTCString(),
    'Link',
    `<${apiResource}/docs/versioning>; rel="deprecation sunset"; type="text/html"`,
  ]
}
