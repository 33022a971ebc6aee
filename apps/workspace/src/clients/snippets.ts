import type { Scope } from '#shared/oauth/scopes.ts'
import type { KeyAlgorithm } from './key-pair.ts'

export interface Access {
  baseUrl: string
  vendorId: string
  clientId: string
  /** A placeholder when the secret is no longer known; the name of the private key's file. */
  credential: { secret: string } | { keyFile: string; algorithm: KeyAlgorithm }
  scopes: readonly Scope[]
}

const ASSERTION_TYPE = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'

/** ECDSA signatures in a JWT are two numbers of 32 bytes (RFC 7518 §3.4), where OpenSSL writes them as DER. */
const SHELL_SIGNS: Record<KeyAlgorithm, (keyFile: string) => string> = {
  ES256: (keyFile) =>
    `printf %s "$SIGNED" | openssl dgst -sha256 -sign ${keyFile} |
  perl -0777ne 'print map substr("\\0" x 32 . $_, -32), unpack "x3 C/a x C/a"'`,
  RS256: (keyFile) => `printf %s "$SIGNED" | openssl dgst -sha256 -sign ${keyFile}`,
  EdDSA: (keyFile) =>
    `printf %s "$SIGNED" > signed.txt && openssl pkeyutl -sign -rawin -in signed.txt -inkey ${keyFile}`,
}

/**
 * Signs a token request (RFC 7523 §2.2) in place of sending a secret: sets SIGNED and SIGNATURE to an assertion that
 * names the client, holds for a minute and is used once.
 */
const inShell = (
  { keyFile, algorithm }: { keyFile: string; algorithm: KeyAlgorithm },
  { clientId, baseUrl }: { clientId: string; baseUrl: string },
): string =>
  `# Sign an assertion with the private key. It holds for a minute and is used once
base64url() { openssl base64 -A | tr +/ -_ | tr -d =; }
NOW=$(date +%s)
SIGNED=$(printf '{"alg":"${algorithm}"}' | base64url).$(
  printf '{"iss":"%s","sub":"%s","aud":"%s","iat":%d,"exp":%d,"jti":"%s"}' \\
    ${clientId} ${clientId} ${baseUrl} $NOW $((NOW + 60)) $(openssl rand -hex 16) | base64url)
SIGNATURE=$(${SHELL_SIGNS[algorithm](keyFile)} | base64url)
`

const tokenUrl = ({ baseUrl }: Access) => `${baseUrl}/v1/oauth/token`
const analyticsUrl = ({ baseUrl, vendorId }: Access) => `${baseUrl}/v1/analytics/${vendorId}`

const callsApi = ({ scopes }: Access): boolean => scopes.some((scope) => scope.startsWith('analytics:'))

interface Calls {
  /** What comes before the calls. */
  shared?: string
  report: string
  read: string
  /** For a client whose scopes no route needs. */
  none: string
}

/** What the client may do here, one call after the other. */
function calls(access: Access, { shared = '', report, read, none }: Calls): string {
  if (!callsApi(access)) return none
  const { scopes } = access
  const made = [scopes.includes('analytics:write') && report, scopes.includes('analytics:read') && read]
  return shared + made.filter(Boolean).join('\n')
}

export const envFile = (access: Access): string =>
  `INTEGRATION_BASE_URL=${access.baseUrl}
INTEGRATION_VENDOR_ID=${access.vendorId}
INTEGRATION_CLIENT_ID=${access.clientId}
${'secret' in access.credential ? `INTEGRATION_CLIENT_SECRET=${access.credential.secret}` : `INTEGRATION_PRIVATE_KEY_FILE=${access.credential.keyFile}`}
INTEGRATION_SCOPE="${access.scopes.join(' ')}"
`

const curlToken = (access: Access): string =>
  `curl -sS ${tokenUrl(access)} \\
  -d grant_type=client_credentials \\
  -d client_id=${access.clientId} \\
  ${
    'secret' in access.credential
      ? `-d client_secret=${access.credential.secret}`
      : `-d client_assertion_type=${ASSERTION_TYPE} \\\n  -d client_assertion=$SIGNED.$SIGNATURE`
  } \\
  -d 'scope=${access.scopes.join(' ')}'`

/** Works as pasted, all of it at once: the token goes into the next commands, and is not shown. */
export const curl = (access: Access): string =>
  ('secret' in access.credential ? '' : `${inShell(access.credential, access)}\n`) +
  `# Get a token, valid for 15 minutes
${calls(access, {
  shared: `TOKEN=$(${curlToken(access)} |
  sed -nE -e 's/.*"access_token":"([^"]+)".*/\\1/p' -e t -e 'w /dev/stderr')

`,
  report: `# Report one impression, which today’s figures then include
NOW=$(date -u +%Y-%m-%dT%H:%M:%SZ)
curl -sS -w '\\n' ${analyticsUrl(access)}/events \\
  -H "Authorization: Bearer \${TOKEN:?was not issued}" \\
  -H 'Content-Type: application/json' \\
  -d '{"events":[{"type":"impression","eventId":"${access.clientId}:'$NOW'","occurredAt":"'$NOW'"}]}'
`,
  read: `# Read the last 30 days
curl -sS ${analyticsUrl(access)}/daily \\
  -H "Authorization: Bearer \${TOKEN:?was not issued}"
`,
  none: `${curlToken(access)}
`,
})}`
