import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { cp, mkdir, mkdtempDisposable, readFile, rm, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { collectText } from '../../support/collect-text.ts'
import { eventually } from '../../support/eventually.ts'
import { freePort } from '../../support/ports.ts'
import { run } from '../../support/program.ts'

/*
 * A stranger's first minutes: an ordinary user on a Debian 12 that has nothing but curl, Node and its npm,
 * and in whose shell other databases are set. Makes that system with debootstrap, and runs the README's
 * commands in it as printed, from the clone of the last commit to the first figure. Needs root, debootstrap,
 * the npm registry and Debian's packages.
 */
const ROOT = join(import.meta.dirname, '../../..')
const ADA = 1_000
const HOME = 'home/ada'
/** Node, the npm that it comes with, and how its user installs packages. */
const MACHINES = [
  ['20.20.2', '10.8.2', 'npm ci'],
  ['22.21.1', '10.9.4', 'npm install'],
  ['24.11.0', '11.6.1', 'npm ci'],
] as const
/** The shell of a person who works with other databases. */
const OTHER_DATABASES = {
  PGHOST: 'db.acme.example',
  PGUSER: 'ada',
  PGPASSWORD: 'elsewhere',
  PGSSLMODE: 'require',
  PGOPTIONS: '-c search_path=other',
}

type System = Awaited<ReturnType<typeof createSystem>>

/** A folder with Debian 12 and the user ada, who reaches the registries as this machine does. */
async function createSystem() {
  await using making = new AsyncDisposableStack()
  const folder = making.use(await mkdtempDisposable('/var/tmp/integration-access-newcomer-'))
  const root = join(folder.path, 'root')
  const sites = await run('apt-get', ['indextargets', '--format', '$(SITE)', 'Created-By: Packages'])
  const [mirror = ''] = sites.stdout.split('\n')
  await run('debootstrap', ['--variant=minbase', '--include=curl,ca-certificates', 'bookworm', root, mirror])
  await run('chroot', [root, 'useradd', '--create-home', '--uid', String(ADA), 'ada'])
  for (const path of ['etc/resolv.conf', 'etc/hosts', 'etc/apt', 'etc/ssl/certs'])
    await cp(join('/', path), join(root, path), { recursive: true, force: true })
  const network: Record<string, string> = { NODE_EXTRA_CA_CERTS: '/etc/ssl/certs/ca-certificates.crt' }
  for (const name of ['registry', 'cafile']) {
    const { stdout } = await run('npm', ['config', 'get', name])
    if (stdout.trim() !== 'null') network[`npm_config_${name}`] = stdout.trim()
  }
  const parts = making.move()
  return { root, network, [Symbol.asyncDispose]: () => parts.disposeAsync() }
}

/** Puts a Node with its npm there, as an archive of nodejs.org has them, in place of the one before. */
async function installNode({ root }: System, node: string, npm: string): Promise<void> {
  const local = join(root, 'usr/local')
  await rm(join(local, 'lib/node_modules'), { recursive: true, force: true })
  for (const [name, version, target] of [
    [`node-${process.platform}-${process.arch}`, node, 'lib/node'],
    ['npm', npm, 'lib/node_modules/npm'],
  ] as const) {
    await using folder = await mkdtempDisposable('/var/tmp/integration-access-newcomer-')
    const archive = await run('npm', ['pack', '--silent', `${name}@${version}`], { cwd: folder.path })
    await run('tar', ['--extract', `--file=${archive.stdout.trim()}`], { cwd: folder.path })
    await rm(join(local, target), { recursive: true, force: true })
    await cp(join(folder.path, 'package'), join(local, target), { recursive: true })
  }
  for (const [link, to] of [
    ['node', '../lib/node/bin/node'],
    ['npm', '../lib/node_modules/npm/bin/npm-cli.js'],
    ['npx', '../lib/node_modules/npm/bin/npx-cli.js'],
  ] as const) {
    await rm(join(local, 'bin', link), { force: true })
    await symlink(to, join(local, 'bin', link))
  }
}

/** Makes a new home for ada, with a clone of the last commit. */
async function clone({ root }: System): Promise<void> {
  const home = join(root, HOME)
  await rm(home, { recursive: true })
  await mkdir(home)
  await run('git', ['clone', '--quiet', ROOT, join(home, 'product')])
  await run('chown', ['--recursive', `${ADA}:${ADA}`, home])
}

/** A shell of ada's in her clone, as a child process. All that it starts ends with it. */
function shell({ root, network }: System, commands: string, env: Record<string, string> = {}) {
  // The first process stays root's: the kernel would not kill one that has become another user's.
  const enter = `mount -t proc proc '${root}/proc'
    mount --rbind /dev '${root}/dev'
    chroot --userspec=${ADA}:${ADA} '${root}' /bin/sh -c 'cd /${HOME}/product && eval "$COMMANDS"'
    exit`
  const child = spawn('unshare', ['--mount', '--pid', '--fork', '--kill-child', 'sh', '-ec', enter], {
    env: {
      PATH: '/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
      HOME: `/${HOME}`,
      COMMANDS: commands,
      ...OTHER_DATABASES,
      ...network,
      ...env,
    },
  })
  const [stdout, stderr] = [collectText(child.stdout), collectText(child.stderr)]
  const ended = new Promise<number | null>((resolve) => child.on('close', resolve))
  return {
    stdout,
    all: () => `${stdout()}\n${stderr()}`,
    isRunning: () => child.exitCode === null,
    /** Returns what it printed. @throws AssertionError if it failed. */
    async output() {
      assert.equal(await ended, 0, `${commands}:\n${stdout()}\n${stderr()}`)
      return stdout()
    },
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL')
      await ended
    },
  }
}

/** The README's blocks of commands, in order. */
const commandsOfReadme = async (): Promise<string[]> =>
  [...(await readFile(join(ROOT, 'README.md'), 'utf8')).matchAll(/^```sh\n(.*?)^```/gms)].map(
    ([, commands = '']) => commands.trim(),
  )

describe('the README on a bare Debian 12', () => {
  let system: System
  before(async () => {
    system = await createSystem()
  })
  after(() => system?.[Symbol.asyncDispose]())

  for (const [node, npm, install] of MACHINES)
    it(`leads to the first figure with Node ${node}, npm ${npm} and ${install}`, async () => {
      const [installAndStart = '', getToken = '', readDaily = ''] = await commandsOfReadme()
      assert.equal(installAndStart, 'npm ci\nnpm start')
      await installNode(system, node, npm)
      await clone(system)
      const env = { PORT: String(await freePort()) }

      await using installing = shell(system, install)
      await installing.output()
      assert.doesNotMatch(installing.all(), /warn/i)

      await using start = shell(system, 'npm start', env)
      const isReady = () => /^ready http/m.test(start.stdout()) || !start.isRunning()
      await eventually(isReady, { otherwise: start.all, limit_ms: 300_000 })
      assert.match(start.stdout(), /^ready http/m, start.all())

      await using token = shell(system, getToken)
      const { access_token } = JSON.parse(await token.output())
      const here = getToken.split('\n', 1)[0]
      await using read = shell(system, `${here}\n${readDaily.replace('eyJ…', access_token)}`)
      const answer = JSON.parse(await read.output())
      assert.equal(answer.vendorId, 'ven_acme')
      assert.ok(answer.totals.revenueMinor > 0)
    })

  it('leads to tests that pass', async () => {
    const [command = ''] = (await commandsOfReadme()).filter((commands) => commands.includes('npm test'))
    const [[node, npm]] = MACHINES
    await installNode(system, node, npm)
    await clone(system)
    await using tests = shell(system, command)
    assert.match(await tests.output(), /\n\d{4} passed, 0 failed /)
  })
})
