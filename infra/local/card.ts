import { relative } from 'node:path'
import { styleText } from 'node:util'
import type { DemoClient } from './demo-client.ts'
import { DEMO_COMPANIES, type DemoCompany, type DemoPerson } from './seed/companies.ts'
import type { LocalStack } from './stack.ts'

const LABEL_WIDTH = 22
const EMAIL_WIDTH = 26

/**
 * Everything a person needs to start, printed under the `ready` line. The output may end up in a file or on a
 * shared screen, so the secret is in the .env of /docs, which only its owner can read.
 */
export function card(stack: LocalStack): string {
  const people = DEMO_COMPANIES.flatMap((demo) => demo.people.map((person) => personText(person, demo)))
  return [
    '',
    row('Workspace', styleText('bold', stack.baseUrl)),
    row('Authorization server', stack.authUrl),
    row('Resource API', `${stack.apiUrl} (docs: ${stack.baseUrl}/docs)`),
    '',
    row('Sign in as', people[0] ?? ''),
    ...people.slice(1).map((email) => row('', email)),
    row('Password', passwordText(stack)),
    '',
    row('Mail', mailText(stack)),
    row('Audit trail', displayPath(stack.auditFile)),
    row('More', 'npm run admin -- --help'),
    '',
    ...(stack.demoClient ? [...curlPair(stack.demoClient), ''] : []),
    'Ctrl-C stops everything.',
    '',
  ].join('\n')
}

const row = (label: string, value: string): string => `  ${label.padEnd(LABEL_WIDTH)}${value}`

const personText = ({ email, role, status }: DemoPerson, { company }: DemoCompany): string =>
  `${email.padEnd(EMAIL_WIDTH)}${status === 'suspended' ? 'suspended ' : ''}${role} of ${company.name}`

const mailText = ({ mailFolder }: LocalStack): string =>
  mailFolder === undefined ? 'sent by the server of SMTP_URL' : `files in ${displayPath(mailFolder)}`

const passwordText = ({ demoPassword }: LocalStack): string =>
  demoPassword === undefined
    ? 'set on the first start (change it with npm run admin -- password reset)'
    : `${styleText('bold', demoPassword)}   (shown only once)`

function curlPair({ envFile }: DemoClient): string[] {
  return [
    styleText('bold', `Get a token and read Acme's analytics with it`),
    '',
    `  set -a; . ${shellQuoted(envFile)}; set +a`,
    `  TOKEN=$(curl -sS "$INTEGRATION_BASE_URL/v1/oauth/token" \\`,
    `      -u "$INTEGRATION_CLIENT_ID:$INTEGRATION_CLIENT_SECRET" \\`,
    '      -d grant_type=client_credentials -d scope=analytics:read |',
    `    sed -nE -e 's/.*"access_token":"([^"]+)".*/\\1/p' -e t -e 'w /dev/stderr')`,
    `  curl -sS "$INTEGRATION_BASE_URL/v1/analytics/$INTEGRATION_VENDOR_ID/daily" \\`,
    `      -H "Authorization: Bearer \${TOKEN:?was not issued}"`,
  ]
}

function displayPath(path: string): string {
  const fromHere = relative(process.cwd(), path)
  return fromHere.startsWith('..') ? path : fromHere
}

const shellQuoted = (path: string): string =>
  /^[\w./@-]+$/.test(path) ? path : `'${path.replaceAll("'", `'\\''`)}'`
