import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { onPath } from '../../../infra/local/child.ts'
import { Failure } from '../../../infra/local/failure.ts'
import { eventually } from '../../support/eventually.ts'
import { type Count, reportLosses, underLoad } from '../load.ts'
import { type Client, createClient, install, makeRelease } from './installation.ts'
import { createShell, type Shell } from './shell.ts'

/*
 * The commands of the runbook's page about containers, from a release's files alone, to a token over TLS. Then an instance
 * of each service vanishes under load, all are recreated one by one, and Docker restarts. Needs root, Docker with Compose
 * 2, skopeo, minisign and the port 443, and images to build on, which are never pulled, or a release:
 *
 *   npm run test:containers -- --base IMAGE --web-base IMAGE
 *   npm run test:containers -- --release FOLDER
 *
 * `--restart-docker COMMAND` restarts the daemon (default: systemctl restart docker).
 */
const CALLERS = 4
const GONE_MS = 20_000
const INSTANCES = ['auth-1', 'auth-2', 'api-1', 'api-2']
const AWAY = ['auth-1', 'api-1']
const PROJECT = 'integration-trial'

/** @throws Failure that names what is missing, in one line. */
async function checkMachine(run: Shell): Promise<void> {
  if (process.getuid?.() !== 0) throw new Failure('This trial needs root.')
  for (const program of ['docker', 'skopeo', 'minisign'])
    if (!(await onPath(program))) throw new Failure(`This trial needs ${program}, which is not installed.`)
  for (const [command, what] of [
    ['docker info', 'a Docker daemon that runs'],
    ['docker compose version', 'Docker with Compose 2'],
  ] as const)
    await run(command).catch(() => {
      throw new Failure(`This trial needs ${what}: "${command}" failed.`)
    })
}

/** nginx passes on the address that called it, and the services believe it. */
async function checkAddress(run: Shell): Promise<void> {
  const gateway = await run(
    `docker network inspect ${PROJECT}_front --format '{{(index .IPAM.Config 0).Gateway}}'`,
  )
  const log = await run('docker compose logs --no-log-prefix api-1 api-2 auth-1 auth-2')
  const addresses = new Set([...log.matchAll(/"clientAddress":"([^"]*)"/g)].map(([, address]) => address))
  if ([...addresses].join() !== gateway.trim() || log.includes('proxy.untrusted'))
    throw new Failure(`The services saw the addresses ${[...addresses]}, not ${gateway}.`)
}

async function vanish(run: Shell): Promise<void> {
  await run(`docker compose kill ${AWAY.join(' ')}`)
  await sleep(GONE_MS)
  await run(`docker compose up --detach --no-deps --wait ${AWAY.join(' ')}`)
}

async function recreate(run: Shell): Promise<void> {
  for (const name of INSTANCES)
    await run(`docker compose up --detach --no-deps --force-recreate --wait ${name}`)
}

/** Resolves once a token is granted again. */
async function restart(run: Shell, command: string, client: Client): Promise<void> {
  await run(command)
  await eventually(async () => (await client.token().catch(() => undefined))?.status === 200, {
    limit_ms: 120_000,
  })
}

/** A wrong setting ends a service with a sentence and code 78. */
async function refuse(run: Shell): Promise<void> {
  const answer = await run('docker run --rm --env ISSUER=ftp://x integration-auth 2>&1 || echo "code $?"')
  if (!/ISSUER: .*\n[\s\S]*code 78/.test(answer))
    throw new Failure(`A wrong ISSUER was answered with: ${answer}`)
}

async function tryAll(run: Shell, release: string, restartDocker: string): Promise<boolean> {
  const { version } = JSON.parse(await readFile(join(import.meta.dirname, '../../../package.json'), 'utf8'))
  await install(run, release, version)
  const client = await createClient(release)
  const { body } = await client.token()
  const { status } = await client.read(body.access_token)
  if (status !== 200) throw new Failure(`The first read was answered with ${status}.`)
  await checkAddress(run)
  await refuse(run)
  const call = async (count: Count) => {
    const { access_token } = (await count('token', client.token)) ?? {}
    if (access_token) await count('read', () => client.read(access_token))
  }
  const vanished = await underLoad(CALLERS, call, () => vanish(run))
  const recreated = await underLoad(CALLERS, call, () => recreate(run))
  const results = [
    // What was on its way to them is lost.
    reportLosses('an instance of each service is killed for 20 s', CALLERS, vanished),
    reportLosses('all instances are recreated one by one', 0, recreated),
  ]
  const from_ms = performance.now()
  await restart(run, restartDocker, client)
  const seconds = ((performance.now() - from_ms) / 1_000).toFixed()
  process.stdout.write(`ok: Docker restarts: a token again after ${seconds} s\n`)
  return results.every((holds) => holds)
}

async function main(): Promise<boolean> {
  const { values } = parseArgs({
    options: {
      base: { type: 'string' },
      'web-base': { type: 'string' },
      release: { type: 'string' },
      'restart-docker': { type: 'string', default: 'systemctl restart docker' },
    },
  })
  const { base, 'web-base': webBase, release } = values
  if (!release && !(base && webBase))
    throw new Failure(
      'Name the images to build on (--base IMAGE --web-base IMAGE), or a release (--release FOLDER).',
    )
  const folder = await mkdtemp(join(tmpdir(), 'integration-access-containers-'))
  const site = join(folder, 'site')
  const outside = createShell(folder, {})
  try {
    await checkMachine(outside)
    const made = release
      ? resolve(release)
      : await makeRelease(outside, folder, { base: base ?? '', webBase: webBase ?? '' })
    await outside(`cp --recursive ${made} ${site}`)
    const run = createShell(site, { COMPOSE_PROJECT_NAME: PROJECT })
    return await tryAll(run, site, values['restart-docker']).finally(() =>
      run('docker compose down --volumes'),
    )
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

try {
  if (!(await main())) process.exitCode = 1
} catch (error) {
  if (!(error instanceof Failure)) throw error
  process.stderr.write(`${error.message}\n`)
  process.exitCode = 1
}
