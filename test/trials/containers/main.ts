import { mkdir, mkdtempDisposable } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { onPath } from '../../../infra/local/child.ts'
import { StartError } from '../../../infra/local/start-error.ts'
import { eventually } from '../../support/eventually.ts'
import { type Count, reportLosses, underLoad } from '../load.ts'
import { type Client, createTlsFiles, createTrialClient, install, makeRelease } from './installation.ts'
import { createShell, type Shell } from './shell.ts'

/*
 * The commands of the runbook's page about containers, from a release's files alone, to a token over TLS.
 * Then an instance of each service vanishes under load, all are recreated one by one, and Docker restarts.
 * Needs root, Docker with Compose 2, skopeo, minisign and the port 443, and images to build on, which are
 * never pulled, or a release:
 *
 *   npm run test:containers -- --base IMAGE --web-base IMAGE
 *   npm run test:containers -- --release FOLDER
 *
 * `--from FOLDER` installs the release before from there, and upgrades it. `--restart-docker COMMAND`
 * restarts the daemon (default: systemctl restart docker).
 */
const CALLERS = 4
const GONE_MS = 20_000
const INSTANCES = ['auth-1', 'auth-2', 'api-1', 'api-2']
const AWAY = 'auth-1 api-1'
/** The commands of the runbook that an upgrade repeats. */
const VERIFY_AND_LOAD = 3
const PROJECT = 'integration-trial'

/** @throws Failure that names what is missing, in one line. */
async function checkMachine(run: Shell): Promise<void> {
  if (process.getuid?.() !== 0) throw new StartError('This trial needs root.')
  for (const program of ['docker', 'skopeo', 'minisign'])
    if (!(await onPath(program))) throw new StartError(`This trial needs ${program}, which is not installed.`)
  for (const [command, what] of [
    ['docker info', 'a Docker daemon that runs'],
    ['docker compose version', 'Docker with Compose 2'],
  ] as const)
    await run(command).catch(() => {
      throw new StartError(`This trial needs ${what}: "${command}" failed.`)
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
    throw new StartError(`The services saw the addresses ${[...addresses]}, not ${gateway}.`)
}

async function vanish(run: Shell): Promise<void> {
  await run(`docker compose kill ${AWAY}`)
  await sleep(GONE_MS)
  await run(`docker compose up --detach --no-deps --wait ${AWAY}`)
}

async function recreate(run: Shell): Promise<void> {
  for (const name of INSTANCES)
    await run(`docker compose up --detach --no-deps --force-recreate --wait ${name}`)
}

const MISTAKES: [mistake: string, mend: string, sentence: string][] = [
  ['export BASE_URL=http://x.example', 'unset BASE_URL', "didn't complete successfully: exit 78"],
  ['mv secrets/auth_password .', 'mv auth_password secrets', 'bind source path does not exist'],
  [
    'docker tag integration-auth kept; docker rmi integration-auth',
    'docker tag kept integration-auth',
    'No such image',
  ],
]

/** Each ends in a sentence with code 1, and what runs goes on. */
async function refuse(run: Shell, client: Client): Promise<void> {
  for (const [mistake, mend, sentence] of MISTAKES) {
    const answer = await run(`${mistake}; docker compose run --rm migrate 2>&1 || echo "code $?"; ${mend}`)
    if (!answer.includes(sentence) || !answer.includes('code 1\n'))
      throw new StartError(`"${mistake}" was answered with: ${answer}`)
  }
  if ((await client.token()).status !== 200)
    throw new StartError('After these mistakes, no token was granted.')
}

/** @param from the release before, to be upgraded. */
async function tryAll(
  run: Shell,
  site: string,
  { release, from, restartDocker }: { release: string; from: string | undefined; restartDocker: string },
) {
  await createTlsFiles(site)
  await install(run, from ?? release)
  const client = await createTrialClient(site)
  const { body } = await client.token()
  const { status } = await client.read(body.access_token)
  if (status !== 200) throw new StartError(`The first read was answered with ${status}.`)
  await checkAddress(run)
  const call = async (count: Count) => {
    const { access_token } = (await count('token', client.token)) ?? {}
    if (access_token) await count('read', () => client.read(access_token))
  }
  const report = async (operation: string, most: number, disturb: () => Promise<void>) => {
    if (!reportLosses(operation, most, await underLoad(CALLERS, call, disturb))) process.exitCode = 1
  }
  if (from) {
    await install(run, release, VERIFY_AND_LOAD)
    // As the runbook says: the migration first, then the services one by one.
    await report('the release before is upgraded', 0, async () => {
      await run('docker compose run --rm migrate')
      await recreate(run)
    })
  }
  await refuse(run, client)
  // What was on its way to them is lost.
  await report('an instance of each service is killed for 20 s', CALLERS, () => vanish(run))
  await report('all instances are recreated one by one', 0, () => recreate(run))
  const from_ms = performance.now()
  await run(restartDocker)
  await eventually(async () => (await client.token().catch(() => undefined))?.status === 200, {
    limit_ms: 120_000,
  })
  const seconds = ((performance.now() - from_ms) / 1_000).toFixed()
  process.stdout.write(`ok: Docker restarts: a token again after ${seconds} s\n`)
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      base: { type: 'string' },
      'web-base': { type: 'string' },
      release: { type: 'string' },
      from: { type: 'string' },
      'restart-docker': { type: 'string', default: 'systemctl restart docker' },
    },
  })
  const { base, 'web-base': webBase, from, 'restart-docker': restartDocker } = values
  if (!values.release && !(base && webBase))
    throw new StartError(
      'Name the images to build on (--base IMAGE --web-base IMAGE), or a release (--release FOLDER).',
    )
  await using folder = await mkdtempDisposable(join(tmpdir(), 'integration-access-containers-'))
  const site = join(folder.path, 'site')
  await mkdir(site)
  const outside = createShell(process.cwd(), {})
  const run = createShell(site, { COMPOSE_PROJECT_NAME: PROJECT })
  await checkMachine(outside)
  try {
    const images = `--base ${base} --web-base ${webBase}`
    const release = values.release ?? (await makeRelease(outside, folder.path, images))
    await tryAll(run, site, { release, from, restartDocker })
  } finally {
    await run('docker compose down --volumes')
  }
}

await main().catch((error: Error) => {
  process.stderr.write(`${error.message}\n`)
  process.exitCode = 1
})
