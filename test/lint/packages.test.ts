import assert from 'node:assert/strict'
import { existsSync, globSync, realpathSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT, read } from '../support/project.ts'

const manifest = JSON.parse(read('package.json'))
const lock: Record<string, { version: string; integrity?: string; resolved?: string; inBundle?: true }> =
  JSON.parse(read('package-lock.json')).packages

describe('the packages', () => {
  it('pins exact versions', () => {
    for (const kind of ['dependencies', 'devDependencies', 'optionalDependencies'])
      for (const [name, version] of Object.entries<string>(manifest[kind]))
        assert.match(version, /^(?:npm:[\w@/-]+@)?\d+\.\d+\.\d+(?:-[\w.]+)?$/, name)
  })

  it('locks each package with an integrity and no address', () => {
    for (const [path, { integrity, resolved, inBundle }] of Object.entries(lock)) {
      if (path === '') continue
      assert.equal(resolved, undefined, path)
      // It is inside another package's archive, whose integrity covers it.
      if (inBundle) continue
      assert.match(integrity ?? '', /^sha512-/, path)
    }
  })

  it('runs no install script', () => {
    assert.match(read('.npmrc'), /^ignore-scripts=true$/m)
  })

  it('asks for the Node that the page of each package names', () => {
    const pages = { 'package.json': '', 'infra/deploy/access-tokens.json': 'shared/access-tokens/' }
    for (const [about, folder] of Object.entries(pages)) {
      const [, oldest = ''] = /\bNode ([\d.]+) or newer/.exec(read(`${folder}README.md`)) ?? []
      assert.equal(JSON.parse(read(about)).engines.node, `>=${oldest}`)
    }
  })

  it('exports of the package for other services only modules that it has', () => {
    const { exports, type } = JSON.parse(read('infra/deploy/access-tokens.json'))
    assert.equal(type, manifest.type)
    for (const file of Object.values<string>(exports))
      assert.ok(existsSync(join(ROOT, 'shared/access-tokens', file.replace(/\.js$/, '.ts'))), file)
    const imported = read('shared/access-tokens/README.md').matchAll(/from 'integration-access-tokens(.*)'/g)
    for (const [, path] of imported) assert.ok(`.${path}` in exports, path)
  })

  it('runs each script by the Node of the packages, with files that are there', () => {
    for (const [name, script] of Object.entries<string>(manifest.scripts)) {
      assert.doesNotMatch(script, /(?<!infra\/|c8 )\bnode (?!infra\/check-node\.cjs && )/, name)
      for (const [path] of script.matchAll(/(?<![\w./])(?:apps|infra|node_modules|test)\/[\w./*-]+/g))
        assert.notEqual(globSync(path, { cwd: ROOT }).length, 0, `${name}: ${path}`)
    }
  })

  // The generator of the API's types imports the JavaScript API of TypeScript 6 by this name.
  it('keeps tsc TypeScript 7, whatever else brings one', () => {
    const tsc = realpathSync(join(ROOT, 'node_modules/.bin/tsc'))
    assert.equal(tsc, join(ROOT, 'node_modules/@typescript/native/bin/tsc'))
  })

  it('brings the Node that everything runs on', () => {
    const { version } = lock[`node_modules/node-${process.platform}-${process.arch}`] ?? {}
    assert.equal(process.version, `v${version}`)
    assert.equal(read('.node-version'), `${version}\n`)
  })

  it('has Renovate stay within the versions that are in use, of packages that are', () => {
    const { dependencies, devDependencies, optionalDependencies } = manifest
    const all = Object.entries<string>({ ...dependencies, ...devDependencies, ...optionalDependencies })
    // Renovate knows an alias by the package behind it.
    const named = all.map(([name, version]) => /^npm:(.+)@(.+)/.exec(version)?.slice(1) ?? [name, version])
    const [, image = '', tag = ''] = /^ARG NODE=(.+):(\d+)/m.exec(read('infra/deploy/Containerfile')) ?? []
    const used = new Map([...named, ['node', read('.node-version')], [image, tag]] as [string, string][])
    const { packageRules, ...renovate } = JSON.parse(read('.github/renovate.json'))
    assert.ok(JSON.stringify(packageRules).includes(`"${image}"`))
    const age = `once they are ${renovate.minimumReleaseAge} old, and at once for`
    assert.ok(read('infra/security/questionnaire.md').includes(age))
    assert.equal(renovate.vulnerabilityAlerts.minimumReleaseAge, null)
    for (const { matchPackageNames, allowedVersions } of packageRules)
      for (const name of matchPackageNames) {
        const major = used.get(name)?.split('.')[0] ?? assert.fail(name)
        assert.equal(allowedVersions ?? `^${major}`, `^${major}`, name)
      }
  })
})
