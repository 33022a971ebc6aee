import { copyFile, readFile, writeFile } from 'node:fs/promises'
import { Agent } from 'node:https'
import { basename, join, resolve } from 'node:path'
import got from 'got'
import { StartError } from '../../../infra/local/start-error.ts'
import { createCertificate } from '../../support/certificates.ts'
import type { Shell } from './shell.ts'

const ROOT = join(import.meta.dirname, '../../..')
const HOST = 'integration.example.com'
/** A caller gives up after this. */
const ANSWER_MS = 8_000
const PASSWORD = 'correct-horse-battery-91'

/** Returns the commands of the runbook's page about containers, as they stand there. */
async function commandsOfRunbook(): Promise<string[]> {
  const page = await readFile(join(ROOT, 'infra/runbook/containers.md'), 'utf8')
  const [, block] = /```sh\n([\s\S]*?)```/.exec(page) ?? []
  if (!block) throw new StartError('infra/runbook/containers.md has no commands.')
  return block.trimEnd().split('\n')
}

/**
 * Makes a release of the commit that is checked out, from a clone with a tag and a key of its own. Returns
 * the release's folder, with the public key in it. `images` are the options that name what to build on.
 */
export async function makeRelease(run: Shell, folder: string, images: string): Promise<string> {
  const { version } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8'))
  const git = 'git -c user.name=a -c user.email=a@acme.example'
  const changelogs = 'CHANGELOG.md apps/api/discovery/docs/pages/changelog.md'
  await run(`minisign -G -W -s ${folder}/key -p ${folder}/integration.pub`)
  await run(`git clone --quiet ${ROOT} ${folder}/clone
    cd ${folder}/clone
    sed --in-place 's/^## ${version}, .*/## ${version}, 2025-01-01/' ${changelogs}
    ${git} commit --quiet --all --allow-empty --message x
    ${git} tag --force --annotate --message x ${version}`)
  const keys = `--key ${folder}/key --public-key ${folder}/integration.pub`
  await run(`cd ${folder}/clone && npm run release -- ${keys} ${images} ${folder}/release`)
  const release = join(folder, 'release', version)
  await copyFile(join(folder, 'integration.pub'), join(release, 'integration.pub'))
  return release
}

/**
 * Copies the release, a folder named after its version, into the site, and runs the runbook's first commands
 * there. Three verify it and load its images; all end with a company.
 */
export async function install(
  run: Shell,
  release: string,
  commands = Number.MAX_SAFE_INTEGER,
): Promise<void> {
  await run(`cp --recursive ${resolve(release)}/. .`)
  for (const command of (await commandsOfRunbook()).slice(0, commands)) {
    const from_ms = performance.now()
    await run(command.replaceAll('VERSION', basename(release)), `${PASSWORD}\n`)
    process.stdout.write(`${((performance.now() - from_ms) / 1_000).toFixed(1).padStart(6)} s  ${command}\n`)
  }
}

/** Creates the certificate of the base URL that the runbook has. */
export async function createTlsFiles(site: string): Promise<void> {
  const { pem, keyPem } = createCertificate({ commonName: HOST, names: [HOST] })
  await writeFile(join(site, 'fullchain.pem'), pem)
  await writeFile(join(site, 'privkey.pem'), keyPem)
}

/** Signs in as the owner and creates a client. Returns what sends a token request and a read with it. */
export async function createTrialClient(site: string) {
  const send = createCaller(await readFile(join(site, 'fullchain.pem'), 'utf8'))
  const email = 'bill@initech.example'
  const session = await send('v1/session', { json: { email, password: PASSWORD } })
  const { sessionToken, companies } = session.body
  const vendorId = companies[0].vendorId
  const client = await send(`v1/vendor/${vendorId}/oauth-clients`, {
    headers: { Authorization: `Bearer ${sessionToken}` },
    json: { name: 'Nightly', scopes: ['analytics:read'] },
  })
  const { clientId: client_id, clientSecret: client_secret } = client.body
  const form = { grant_type: 'client_credentials', scope: 'analytics:read', client_id, client_secret }
  return {
    token: () => send('v1/oauth/token', { form }),
    read: (token: string) =>
      send(`v1/analytics/${vendorId}/daily`, { headers: { Authorization: `Bearer ${token}` } }),
  }
}

/** Sends requests to this machine's port 443 over TLS, as if it were the host of that name. */
function createCaller(ca: string) {
  const caller = got.extend({
    prefixUrl: 'https://127.0.0.1',
    headers: { host: HOST },
    agent: { https: new Agent({ ca, servername: HOST, keepAlive: true }) },
    timeout: { request: ANSWER_MS },
    retry: { limit: 0 },
    throwHttpErrors: false,
  })
  /** POST with a body, GET without. Rejects if there is no answer in time. */
  return async (
    path: string,
    options: { headers?: Record<string, string>; json?: object; form?: object },
  ) => {
    const method = options.json || options.form ? 'POST' : 'GET'
    const { statusCode, body } = await caller(path, { ...options, method })
    return { status: statusCode, body: JSON.parse(body) }
  }
}

export type Client = Awaited<ReturnType<typeof createTrialClient>>
