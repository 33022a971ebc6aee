import { Command, CommanderError, InvalidArgumentError } from 'commander'
import { decodeJwt } from 'jose'
import { checkRevocation, isLate, resultsTable } from './check.ts'
import { discover, getToken } from './installation.ts'
import { introspection, resourceApi, revocationsPage, type Verifier } from './verifiers.ts'

const EXIT_LATE = 1
const EXIT_NOT_MEASURED = 2
const EXIT_USAGE = 64
const COUNT_MAX = 200
const COUNT = 20

const HELP = `
Environment:
  CLIENT_ID, CLIENT_SECRET    a client of the company with the scope analytics:read; only its new tokens are revoked
  SERVICE_ID, SERVICE_SECRET  a registered service; without it, introspection is not measured

Ends with code 1 if a verifier accepted a token for longer than promised, with 2 if it could not be measured.`

const program = new Command('npm run revocation-check --')
  .description(
    'Measures how long an installation takes to refuse a revoked token: gets tokens, revokes each, and asks the resource API, introspection and a copy of the revocations page until they refuse it.',
  )
  .argument('<base-url>', 'the issuer of the authorization server, such as https://auth.example.com')
  .option('--api <url>', 'base URL of the resource API (default: the audience of its tokens)')
  .option('--count <n>', `tokens to revoke, at most ${COUNT_MAX}`, countOf, COUNT)
  .addHelpText('after', HELP)
  .exitOverride()

function countOf(text: string): number {
  const count = Number(text)
  if (!Number.isInteger(count) || count < 1 || count > COUNT_MAX)
    throw new InvalidArgumentError(`It must be a whole number from 1 to ${COUNT_MAX}.`)
  return count
}

/** Returns the value of a variable. @throws Error that names it if it is empty. */
function required(name: string): string {
  const value = process.env[name]
  if (!value) throw new Error(`Set ${name} in the environment; see --help.`)
  return value
}

async function main(): Promise<number> {
  program.parse()
  const [baseUrl = ''] = program.args
  const { api, count } = program.opts<{ api?: string; count: number }>()
  const client = { id: required('CLIENT_ID'), secret: required('CLIENT_SECRET') }
  const installation = await discover(baseUrl.replace(/\/$/, ''), client)
  const { aud } = decodeJwt<{ aud: string }>(await getToken(installation))
  const { SERVICE_ID: id } = process.env
  const verifiers: Verifier[] = [resourceApi(installation, (api ?? aud).replace(/\/$/, ''))]
  if (id) verifiers.push(introspection(installation, { id, secret: required('SERVICE_SECRET') }))
  verifiers.push(await revocationsPage(installation, aud))
  const results = await checkRevocation(installation, verifiers, {
    count,
    progress: (rounds) => process.stderr.write(`${rounds} of ${count} revoked\n`),
  }).finally(() => {
    for (const { stop } of verifiers) stop?.()
  })
  process.stdout.write(`${resultsTable(results)}\n`)
  if (!id) process.stdout.write('Introspection was not measured: SERVICE_ID is not set.\n')
  process.stdout.write(
    'A verifier that does not ask accepts a revoked token until it expires, at most 15 minutes.\n',
  )
  return results.some(isLate) ? EXIT_LATE : 0
}

process.exitCode = await main().catch((error) => {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : EXIT_USAGE
  process.stderr.write(`${(error as Error).message}\n`)
  return EXIT_NOT_MEASURED
})
