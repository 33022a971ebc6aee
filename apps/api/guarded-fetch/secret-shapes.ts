import { CLIENT_SECRET_PATTERN, LINK_TOKEN_PATTERN, SESSION_TOKEN_PATTERN } from '#shared/oauth/ids.ts'

/* Secrets with a recognisable form. A public URL must not contain one, and callbacks show none of them. */

/** Each matches every secret of one kind in a text. */
export const SECRET_SHAPES: readonly RegExp[] = [
  CLIENT_SECRET_PATTERN,
  SESSION_TOKEN_PATTERN,
  LINK_TOKEN_PATTERN,
  // JSON Web Token: three base64url parts, the first of which is a JSON object (RFC 7519). JWE has five, of
  // which the second may be empty (RFC 7518 §4.5). It begins at the first `eyJ` of a word, since trying each
  // of them would be quadratic.
  /(?<![\w-])(?:(?!eyJ)[\w-])*eyJ[\w-]{8,}\.(?:[\w-]{8,})?(?:\.[\w-]*){1,3}/,
  // Amazon Web Services access key id
  /(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}/,
  // GitHub, GitLab
  /gh[opusr]_[A-Za-z0-9]{36,}/,
  /github_pat_\w{22,}/,
  /gl(?:pat|dt|rt|cbt|ptt|ft|imt|agent|oas|soat)-[\w-]{20,}/,
  // Slack; the path of a Slack webhook is opaque and allowed
  /xox[abeoprs]-[\w-]{10,}/,
  /xapp-\d-[\w-]{10,}/,
  // Stripe
  /(?:sk|rk)_(?:live|test)_[A-Za-z0-9]{16,}/,
  /whsec_[A-Za-z0-9+/]{24,}/,
  // Google API key, OAuth client secret, OAuth access token
  /AIza[\w-]{35}/,
  /GOCSPX-[\w-]{20,}/,
  /ya29\.[\w-]{20,}/,
  // SendGrid, Mailgun, Twilio API key, Mailchimp
  /SG\.[\w-]{16,}\.[\w-]{16,}/,
  /(?<![A-Za-z0-9])key-[0-9a-f]{32}/,
  /(?<![A-Za-z0-9])SK[0-9a-f]{32}/,
  /(?<![0-9a-f])[0-9a-f]{32}-us\d{1,2}(?!\d)/,
  // npm, PyPI, Docker Hub, DigitalOcean, HashiCorp Vault, Shopify, Square, Telegram bot
  /npm_[A-Za-z0-9]{36}/,
  /pypi-[\w-]{50,}/,
  /dckr_pat_[\w-]{20,}/,
  /do[opr]_v1_[0-9a-f]{64}/,
  /hv[sbr]\.[\w-]{24,}/,
  /shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}/,
  /sq0(?:atp|csp|idp)-[\w-]{22,}/,
  /(?<!\d)\d{8,10}:AA[\w-]{33}/,
  // OpenAI, Anthropic, Hugging Face
  /(?<![A-Za-z0-9])sk-[\w-]{20,}/,
  /(?<![A-Za-z0-9])hf_[A-Za-z0-9]{30,}/,
  // A private key in PEM (RFC 7468), as far as it goes within its quotes
  /-----BEGIN [A-Z ]*PRIVATE KEY-----(?:(?:[^"\\]|\\[^"])*?-----END [A-Z ]*PRIVATE KEY-----|(?:[^"\\]|\\[^"])*)/,
  // A user and password in a URL (RFC 3986 §3.2.1)
  /(?<=:\/\/)[^\s/?#@:"]*:[^\s/?#@"]+@/,
].map((shape) => new RegExp(shape, 'g'))

const CREDENTIAL_WORDS =
  /^(?:tokens?|secrets?|passwords?|passwd|passphrase|passkey|passcode|pwd|pswd|psw|pw|passw?|credentials?|creds?|apikeys?|signature|sig|hmac|jwt|bearer|auth|authorization|authentication|oauth|session|sessionid|sessid|jsessionid|phpsessid|cookies?|t?otp|sas)$/
const CREDENTIAL_ENDINGS =
  /(?:tokens?|secrets?|passwords?|passwd|passphrase|passkey|pwd|pswd|credentials?|signature|sessionid|sessid|(?:api|access|secret|private|auth|account|master|shared|client|user|app|service|function|subscription|signing|encryption|webhook|license|hash|write|server|security)keys?)$/
/** Keys that are not secret. */
const HARMLESS_KEYS = /(?:public|sort|primary|foreign|partition|cache|idempotency|object|row|group)key$/

/**
 * Whether a parameter, member or header field of this name carries a credential. The name is split into words
 * however they are joined (`api_key`, `apiKey`, `x-api-key`, `APIKEY`), so `keyword` and `design` do not
 * match. Wider than the rule for URLs, since a reader loses little if too much is hidden.
 */
export function isCredentialName(name: string): boolean {
  const words = nameWords(name)
  const joined = words.join('')
  if (HARMLESS_KEYS.test(joined)) return false
  const last = words.at(-1)
  return (
    words.some((word) => CREDENTIAL_WORDS.test(word)) ||
    last === 'key' ||
    last === 'keys' ||
    CREDENTIAL_ENDINGS.test(joined) ||
    CREDENTIAL_WORDS.test(joined) ||
    joined === 'awsaccesskeyid'
  )
}

/** Returns the words of a name in lower case, however they are joined. */
export function nameWords(name: string): string[] {
  return name
    .normalize('NFKC')
    .replace(/([a-z])([A-Z])/g, '$1 $2')
    .replace(/([A-Z])([A-Z][a-z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^a-z]+/)
    .filter(Boolean)
}
