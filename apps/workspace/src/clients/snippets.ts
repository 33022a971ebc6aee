import type { Scope } from '#shared/oauth/scopes.ts'
import type { Credential, KeyCredential } from './credential.ts'
import type { KeyAlgorithm } from './key-pair.ts'
import { type ClientWorkload, detectPlatform, type PlatformId } from './platforms.ts'

export interface ClientAccess {
  baseUrl: string
  vendorId: string
  clientId: string
  credential: Credential
  scopes: readonly Scope[]
}

const ASSERTION_TYPE = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'

/** An ECDSA signature in a JWT is two numbers of 32 bytes (RFC 7518 §3.4). OpenSSL writes DER. */
const SHELL_SIGNS: Record<KeyAlgorithm, (keyFile: string) => string> = {
  ES256: (keyFile) =>
    `printf %s "$SIGNED" | openssl dgst -sha256 -sign ${keyFile} |
  perl -0777ne 'print map substr("\\0" x 32 . $_, -32), unpack "x3 C/a x C/a"'`,
  RS256: (keyFile) => `printf %s "$SIGNED" | openssl dgst -sha256 -sign ${keyFile}`,
  EdDSA: (keyFile) =>
    `printf %s "$SIGNED" > signed.txt && openssl pkeyutl -sign -rawin -in signed.txt -inkey ${keyFile}`,
}

/**
 * Returns shell code that sets SIGNED and SIGNATURE to an assertion (RFC 7523 §2.2) of the client, which
 * holds for a minute and is used once.
 */
const inShell = (credential: KeyCredential, { clientId, baseUrl }: ClientAccess): string =>
  `# Sign an assertion with the private key. It holds for a minute and is used once
base64url() { openssl base64 -A | tr +/ -_ | tr -d =; }
NOW=$(date +%s)
SIGNED=$(printf '{"alg":"${credential.algorithm}"}' | base64url).$(
  printf '{"iss":"%s","sub":"%s","aud":"%s","iat":%d,"exp":%d,"jti":"%s"}' \\
    ${clientId} ${clientId} ${baseUrl} $NOW $((NOW + 60)) $(openssl rand -hex 16) | base64url)
SIGNATURE=$(${SHELL_SIGNS[credential.algorithm](keyFileOf(credential, clientId))} | base64url)
`

const keyFileOf = ({ keyFile }: KeyCredential, clientId: string): string => keyFile ?? `${clientId}.pem`

export const envFile = (
  access: ClientAccess,
  credential: Exclude<Credential, { method: 'workload_identity' }>,
): string =>
  `INTEGRATION_BASE_URL=${access.baseUrl}
INTEGRATION_VENDOR_ID=${access.vendorId}
INTEGRATION_CLIENT_ID=${access.clientId}
${credential.method === 'client_secret' ? `INTEGRATION_CLIENT_SECRET=${credential.secret}` : `INTEGRATION_PRIVATE_KEY_FILE=${keyFileOf(credential, access.clientId)}`}
INTEGRATION_SCOPE="${access.scopes.join(' ')}"
`

/** Returns the commands that put a token of the platform for this audience into ASSERTION. */
function assertionInShell(workload: ClientWorkload, audience: string): string {
  const github = `ASSERTION=$(curl -sS -H "Authorization: Bearer $ACTIONS_ID_TOKEN_REQUEST_TOKEN" \\
  "$ACTIONS_ID_TOKEN_REQUEST_URL&audience=${audience}" |
  sed -nE 's/.*"value":"([^"]+)".*/\\1/p')`
  const gitlab = '# The runner puts the token of id_tokens into ASSERTION'
  const commands: Record<PlatformId, string> = {
    github,
    githubEnterprise: github,
    gitlab,
    gitlabServer: gitlab,
    kubernetes: 'ASSERTION=$(cat /var/run/secrets/integration/token)',
    spiffe: `ASSERTION=$(spire-agent api fetch jwt -audience ${audience} | sed -nE 's/^[[:space:]]+(ey[A-Za-z0-9._-]+)$/\\1/p')`,
    google: `ASSERTION=$(curl -sS -H 'Metadata-Flavor: Google' \\
  'http://metadata.google.internal/computeMetadata/v1/instance/service-accounts/default/identity?audience=${audience}')`,
    // Version 1 of the command fetches a bare URL, and would send what it finds there.
    aws: `ASSERTION=$(aws sts get-web-identity-token --audience '["${audience}"]' \\
  --signing-algorithm ES384 --duration-seconds 300 --query WebIdentityToken --output text)`,
    buildkite: `ASSERTION=$(buildkite-agent oidc request-token --audience ${audience} --claim pipeline_id)`,
    circleci: `ASSERTION=$(circleci run oidc get --claims '{"aud": "${audience}"}')`,
    bitbucket: `# The step has: oidc: {audiences: ["${audience}"]}
ASSERTION=$BITBUCKET_STEP_OIDC_TOKEN`,
    other: `# A token of the platform whose aud is ${audience}
ASSERTION=$(cat platform-token.jwt)`,
  }
  return commands[detectPlatform(workload)]
}

/** What proves the client's identity in a token request: the commands before it, and its fields. */
function writeProof(access: ClientAccess): { commands: string; fields: string } {
  const { credential } = access
  if (credential.method === 'client_secret')
    return { commands: '', fields: `-d client_secret=${credential.secret}` }
  const fields = (assertion: string) =>
    `-d client_assertion_type=${ASSERTION_TYPE} \\\n  -d client_assertion=${assertion}`
  if (credential.method === 'workload_identity') {
    const commands = assertionInShell(credential.workload, access.baseUrl)
    return { commands: `${commands}\n\n`, fields: fields('"$ASSERTION"') }
  }
  return { commands: `${inShell(credential, access)}\n`, fields: fields('$SIGNED.$SIGNATURE') }
}

/** Works as pasted, all of it at once: the token goes into the next commands, and is not shown. */
export function curl(access: ClientAccess): string {
  const { baseUrl, vendorId, clientId, scopes } = access
  const { commands, fields } = writeProof(access)
  const request = `curl -sS ${baseUrl}/v1/oauth/token \\
  -d grant_type=client_credentials \\
  -d client_id=${clientId} \\
  ${fields} \\
  -d 'scope=${scopes.join(' ')}'`
  const url = `${baseUrl}/v1/analytics/${vendorId}`
  const calls = [
    scopes.includes('analytics:write') && reportEvent(url, clientId),
    scopes.includes('analytics:read') && readDays(url),
  ].filter(Boolean)
  const token =
    calls.length === 0
      ? request
      : `TOKEN=$(${request} |
  sed -nE -e 's/.*"access_token":"([^"]+)".*/\\1/p' -e t -e 'w /dev/stderr')`
  return `${commands}# Get a token, valid for 15 minutes\n${[token, ...calls].join('\n\n')}\n`
}

const reportEvent = (url: string, clientId: string): string =>
  `# Report one impression, which today’s figures then include
NOW=$(date -u +%Y-%m-%dT%H:%M:%SZ)
curl -sS -w '\\n' ${url}/events \\
  -H "Authorization: Bearer \${TOKEN:?was not issued}" \\
  -H 'Content-Type: application/json' \\
  -d '{"events":[{"type":"impression","eventId":"${clientId}:'$NOW'","occurredAt":"'$NOW'"}]}'`

const readDays = (url: string): string =>
  `# Read the last 30 days
curl -sS ${url}/daily \\
  -H "Authorization: Bearer \${TOKEN:?was not issued}"`

const indented = (text: string, spaces: number): string =>
  text.trimEnd().replaceAll(/^(?=.)/gm, ' '.repeat(spaces))

/** Returns the platform's own file with the commands of a client, or the commands where it has none. */
export function platformFile(access: ClientAccess, workload: ClientWorkload): { name: string; text: string } {
  const { baseUrl: audience } = access
  const script = curl(access)
  const { environment } = workload.claims
  const environmentLine = (spaces: number) =>
    environment ? `\n${' '.repeat(spaces)}environment: ${JSON.stringify(environment)}` : ''
  switch (detectPlatform(workload)) {
    case 'github':
    case 'githubEnterprise':
      return {
        name: '.github/workflows/report.yml',
        text: `name: Report
on: workflow_dispatch
permissions:
  id-token: write
jobs:
  report:
    runs-on: ubuntu-latest${environmentLine(4)}
    steps:
      - run: |
${indented(script, 10)}
`,
      }
    case 'gitlab':
    case 'gitlabServer':
      return {
        name: '.gitlab-ci.yml',
        text: `report:${environmentLine(2)}
  id_tokens:
    ASSERTION:
      aud: ${audience}
  script:
    - |
${indented(script, 6)}
`,
      }
    case 'kubernetes':
      return { name: 'report.yaml', text: podFile(workload, audience, script) }
    default:
      return { name: 'curl', text: script }
  }
}

function podFile({ claims }: ClientWorkload, audience: string, script: string): string {
  const [, , namespace, account] = claims.sub?.split(':') ?? []
  return `apiVersion: v1
kind: Pod
metadata:
  name: report
  namespace: ${namespace}
spec:
  serviceAccountName: ${account}
  restartPolicy: Never
  containers:
    - name: report
      image: curlimages/curl
      command: [sh, -c]
      args:
        - |
${indented(script, 10)}
      volumeMounts:
        - name: integration
          mountPath: /var/run/secrets/integration
          readOnly: true
  volumes:
    - name: integration
      projected:
        sources:
          - serviceAccountToken:
              path: token
              audience: ${audience}
              expirationSeconds: 600
`
}
