/** Causes whose code is not a clear label. */
const CAUSES = new Map([
  ['no_secret', 'no credentials'],
  ['failures_of_address', 'too many failures'],
  ['rate_of_client', 'too many requests'],
  ['revocations_full', 'too many revoked tokens'],
  ['rate_limited', 'too many requests'],
  ['expired', 'expired token'],
  ['revoked', 'revoked token'],
  ['revoked_client', 'client revoked'],
  ['expired_client', 'client expired'],
  ['issuer', "another server's token"],
  ['audience', "another API's token"],
  ['invalid_scope', 'scope not assigned'],
  ['insufficient_scope', 'scope missing in token'],
  ['invalid_input', 'invalid field'],
  ['malformed_json', 'malformed JSON'],
  ['forbidden', "another company's path"],
  ['assertion_malformed', 'malformed assertion'],
  ['assertion_from_the_future', 'clock ahead'],
  ['assertion_no_exp', 'assertion without exp'],
  ['assertion_no_jti', 'assertion without jti'],
  ['assertion_wrong_key', 'wrong key'],
  ['assertion_of_secret_client', 'assertion, not secret'],
  ['workload_wrong_claim', 'wrong or missing claim'],
  ['workload_unknown_key', 'unknown key'],
  ['workload_no_kid', 'token without kid'],
  ['workload_old_keys', 'keys too old'],
  ['secret_of_key_client', 'secret, not assertion'],
])

/** Why requests were refused, in at most four words. @param cause as the API has it. */
export const causeWords = (cause: string): string => CAUSES.get(cause) ?? cause.replaceAll('_', ' ')
