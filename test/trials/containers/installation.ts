import { copyFile, readFile, writeFile } from 'node:fs/promises'
import { basename, join, resolve } from 'node:path'
import { Failure } from '../../../infra/local/failure.ts'
import { createCertificate } from '../../support/certificates.ts'
import { createCaller } from './caller.ts'
import type { Shell } from './shell.ts'

const ROOT = join(import.meta.dirname, '../../..')
const HOST = 'integration.example.com'
const PASSWORD = 'correct-horse-battery-91'

/** Returns the commands of the runbook's page about containers, as they stand there. */
async function commandsOfRunbook(): Promise<string[]> {
  const page = await readFile(join(ROOT, 'infra/runbook/containers.md'), 'utf8')
  const [, block] = /```sh\n([\s\S]*?)```/.exec(page) ?? []
  if (!block) throw new Failure('infra/runbook/containers.md has no commands.')
  return block.trimEnd().split('\n')
}

/**
 * Makes a release of the commit that is checked out, from a clone with a tag and a key of its own. Returns the release's
 * folder, with the public key in it.
 */
export async function makeRelease(
  run: Shell,
  folder: string,
  bases: { base: string; webBase: string },
): Promise<string> {
  const { version } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8'))
  const tag = `git -c user.name=a -c user.email=a@acme.example tag --force --annotate --message x ${version}`
  await run(`minisign -G -W -s ${folder}/key -p ${folder}/integration.pub`)
  await run(
    `git clone --quiet ${ROOT} ${folder}/clone && cd ${folder}/clone && ${tag} && npm ci --prefer-offline`,
  )
  const keys = `--key ${folder}/key --public-key ${folder}/integration.pub`
  const images = `--base ${bases.base} --web-base ${bases.webBase}`
  await run(`cd ${folder}/clone && npm run release -- ${keys} ${images} ${folder}/release`)
  const release = join(folder, 'release', version)
  await copyFile(join(folder, 'integration.pub'), join(release, 'integration.pub'))
  return release
}

/**
 * Copies the release, a folder named after its version, into the site, and runs the runbook's first commands there. Three
 * verify it and load its images; all end with a company.
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

/** Signs in as the owner and creates a client. Returns a caller that sends a token request and a read with it. */
export async function createClient(release: string) {
  const caller = createCaller({ host: HOST, ca: await readFile(join(release, 'fullchain.pem'), 'utf8') })
  const email = 'bill@initech.example'
  const session = await caller.send('POST', '/v1/session', { json: { email, password: PASSWORD } })
  const { sessionToken, companies } = session.body
  const vendorId = companies[0].vendorId
  const created = await caller.send('POST', `/v1/vendor/${vendorId}/oauth-clients`, {
    bearer: sessionToken,
    json: { name: 'Nightly', scopes: ['analytics:read'] },
  })
  const { clientId, clientSecret } = created.body
  return {
    async token() {
      const credentials = { client_id: clientId, client_secret: clientSecret }
      const form = new URLSearchParams({
        grant_type: 'client_credentials',
        scope: 'analytics:read',
        ...credentials,
      })
      return caller.send('POST', '/v1/oauth/token', { form })
    },
    read: (bearer: string) => caller.send('GET', `/v1/analytics/${vendorId}/daily`, { bearer }),
  }
}

export type Client = Awaited<ReturnType<typeof createClient>>
