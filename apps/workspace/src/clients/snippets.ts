import type { Scope } from '#shared/oauth/scopes.ts'

export interface Access {
  baseUrl: string
  vendorId: string
  clientId: string
  /** A placeholder when the secret is no longer known. */
  clientSecret: string
  scopes: readonly Scope[]
}

const tokenUrl = ({ baseUrl }: Access) => `${baseUrl}/v1/oauth/token`
const analyticsUrl = ({ baseUrl, vendorId }: Access) => `${baseUrl}/v1/analytics/${vendorId}/daily`
const reads = ({ scopes }: Access) => scopes.includes('analytics:read')

export const envFile = (access: Access): string =>
  `INTEGRATION_TOKEN_URL=${tokenUrl(access)}
INTEGRATION_ANALYTICS_URL=${analyticsUrl(access)}
INTEGRATION_CLIENT_ID=${access.clientId}
INTEGRATION_CLIENT_SECRET=${access.clientSecret}
INTEGRATION_SCOPE="${access.scopes.join(' ')}"
`

export const curlToken = (access: Access): string =>
  `curl -sS ${tokenUrl(access)} \\
  -d grant_type=client_credentials \\
  -d client_id=${access.clientId} \\
  -d client_secret=${access.clientSecret} \\
  -d 'scope=${access.scopes.join(' ')}'`

export const curlAnalytics = (access: Access): string =>
  `curl -sS ${analyticsUrl(access)} \\
  -H "Authorization: Bearer $ACCESS_TOKEN"`

export const curl = (access: Access): string =>
  `# A token for 15 minutes
${curlToken(access)}
${reads(access) ? `\n# What it reads; ACCESS_TOKEN is access_token of the answer\n${curlAnalytics(access)}\n` : ''}`

/** Reads the .env by `node --env-file=.env`; asks for a new token a minute before the old one ends. */
export const node = (access: Access): string =>
  `// node --env-file=.env analytics.mjs
const env = process.env
let token, renewAt = 0

async function accessToken() {
  if (Date.now() < renewAt) return token
  const response = await fetch(env.INTEGRATION_TOKEN_URL, {
    method: 'POST',
    body: new URLSearchParams({
      grant_type: 'client_credentials',
      client_id: env.INTEGRATION_CLIENT_ID,
      client_secret: env.INTEGRATION_CLIENT_SECRET,
      scope: env.INTEGRATION_SCOPE,
    }),
  })
  const answer = await response.json()
  if (!response.ok) throw new Error(answer.error)
  renewAt = Date.now() + (answer.expires_in - 60) * 1000
  return (token = answer.access_token)
}
${
  reads(access)
    ? `
const response = await fetch(env.INTEGRATION_ANALYTICS_URL, {
  headers: { Authorization: \`Bearer \${await accessToken()}\` },
})
console.log((await response.json()).totals)
`
    : `
console.log('a token of', (await accessToken()).length, 'characters')
`
}`

/** Standard library only. */
export const python = (access: Access): string =>
  `# set -a; . ./.env; set +a; python3 analytics.py
import json, os, time
from urllib.parse import urlencode
from urllib.request import Request, urlopen

env, token, renew_at = os.environ, None, 0

def access_token():
    global token, renew_at
    if time.time() < renew_at:
        return token
    form = urlencode({
        "grant_type": "client_credentials",
        "client_id": env["INTEGRATION_CLIENT_ID"],
        "client_secret": env["INTEGRATION_CLIENT_SECRET"],
        "scope": env["INTEGRATION_SCOPE"],
    }).encode()
    with urlopen(env["INTEGRATION_TOKEN_URL"], form) as response:
        answer = json.load(response)
    token, renew_at = answer["access_token"], time.time() + answer["expires_in"] - 60
    return token
${
  reads(access)
    ? `
request = Request(env["INTEGRATION_ANALYTICS_URL"])
request.add_header("Authorization", "Bearer " + access_token())
with urlopen(request) as response:
    print(json.load(response)["totals"])
`
    : `
print("a token of", len(access_token()), "characters")
`
}`
