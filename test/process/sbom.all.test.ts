import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const ROOT = join(import.meta.dirname, '../..')
const read = (file: string): string => readFileSync(join(ROOT, file), 'utf8')
const { dependencies, devDependencies } = JSON.parse(read('package.json'))

describe('a release', function () {
  this.timeout(60_000)

  it('writes an SBOM and a licence list of the shipped packages, by one command', () => {
    const folder = mkdtempSync(join(tmpdir(), 'integration-access-release-'))
    try {
      const { status, stderr } = spawnSync('npm', ['run', '--silent', 'sbom', '--', folder], {
        cwd: ROOT,
        encoding: 'utf8',
      })
      assert.equal(status, 0, stderr)
      const { bomFormat, components } = JSON.parse(readFileSync(join(folder, 'sbom.json'), 'utf8'))
      assert.equal(bomFormat, 'CycloneDX')
      const names = new Set(components.map(({ name }: { name: string }) => name))
      for (const name of Object.keys(dependencies)) assert.ok(names.has(name), name)
      const { packages } = JSON.parse(read('package-lock.json'))
      const onlyForDevelopment = Object.keys(devDependencies).filter(
        (name) => packages[`node_modules/${name}`].dev,
      )
      assert.ok(onlyForDevelopment.includes('mocha'))
      for (const name of onlyForDevelopment) assert.ok(!names.has(name), name)
      const licences = readFileSync(join(folder, 'licences.md'), 'utf8')
      assert.match(licences, /^\| prom-client \| [\d.]+ \| Apache-2\.0 \|$/m)
      assert.doesNotMatch(licences, /none named|\?/)
    } finally {
      rmSync(folder, { recursive: true })
    }
  })
})
