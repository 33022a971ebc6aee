import { Command, CommanderError, InvalidArgumentError } from 'commander'
import { decodeJwt } from 'jose'
import { EXIT_USAGE } from '../exit-codes.ts'
import { heartbeat, linesTo } from '../progress.ts'
import {
  apiAccepts,
  compareWithPromises,
  discover,
  getToken,
  introspectionAccepts,
  revokeRepeatedly,
  startPackage,
  type Verifier,
} from './check.ts'

const EXIT_NOT_MEASURED = 2
const COUNT_MAX = 200

const HELP = `
Environment:
  CLIENT_ID, CLIENT_SECRET    a client of the company with the scope analytics:read; only its new tokens are
                              revoked
  SERVICE_ID, SERVICE_SECRET  a registered service; without it, introspection is not measured

Ends with code 1 if a verifier accepted a token for longer than promised, with 2 if it could not be measured.`

const program = new Command('npm run revocation-check --')
  .description(
    'Measures how long an installation takes to refuse a revoked token: gets tokens, revokes each, and asks the resource API, introspection and a copy of the revocations page until they refuse it.',
  )
  .argument('<base-url>', 'the issuer of the authorization server, such as https://auth.example.com')
  .option('--api <url>', 'base URL of the resource API (default: the audience of its tokens)')
  .option('--count <n>', `tokens to revoke, at most ${COUNT_MAX}`, parseCount, 20)
  .addHelpText('after', HELP)
  .exitOverride()

function parseCount(text: string): number {
  const count = Number(text)
  if (Number.isInteger(count) && count >= 1 && count <= COUNT_MAX) return count
  throw new InvalidArgumentError(`It must be a whole number from 1 to ${COUNT_MAX}.`)
}

/** @throws Error that names a variable that is not set. */
function credentials(id: 'CLIENT_ID' | 'SERVICE_ID', secret: 'CLIENT_SECRET' | 'SERVICE_SECRET') {
  const [client_id, client_secret] = [process.env[id], process.env[secret]]
  if (client_id && client_secret) return { client_id, client_secret }
  throw new Error(`Set ${client_id ? secret : id} in the environment; see --help.`)
}

async function main(): Promise<number> {
  program.parse()
  const { api, count } = program.opts<{ api?: string; count: number }>()
  const client = credentials('CLIENT_ID', 'CLIENT_SECRET')
  const metadata = await discover((program.args[0] ?? '').replace(/\/$/, ''))
  const { aud } = decodeJwt<{ aud: string }>(await getToken(metadata, client))
  const apiUrl = (api ?? aud).replace(/\/$/, '')
  const verifiers: Verifier[] = [
    { name: 'resource API', promised_ms: 0, accepts: (token) => apiAccepts(apiUrl, token) },
    { name: 'revocations page', promised_ms: 3_000, accepts: await startPackage(metadata, aud) },
  ]
  if (process.env.SERVICE_ID) {
    const service = credentials('SERVICE_ID', 'SERVICE_SECRET')
    const accepts = (token: string) => introspectionAccepts(metadata.introspection_endpoint, service, token)
    verifiers.push({ name: 'introspection', promised_ms: 0, accepts })
  }
  const onRevoked = (round: number) => {
    step = `${round} of ${count} revoked`
    show(step)
  }
  const worst_ms = await revokeRepeatedly(metadata, client, verifiers, { count, onRevoked })
  const { results, exitCode } = compareWithPromises(verifiers, worst_ms)
  console.table(results)
  if (verifiers.length < 3) console.log('Introspection was not measured: SERVICE_ID is not set.')
  return exitCode
}

const show = linesTo(process.stderr)
let step = 'Asking the authorization server'
const exitCode = await heartbeat(show, () => step, main()).catch((error) => {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : EXIT_USAGE
  process.stderr.write(`${(error as Error).message}\n`)
  return EXIT_NOT_MEASURED
})
// The copy of the page goes on polling.
process.exit(exitCode)
