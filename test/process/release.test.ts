import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { EVENT_NAMES, logTable } from '../../infra/log-events.ts'

const ROOT = join(import.meta.dirname, '../..')
const read = (file: string): string => readFileSync(join(ROOT, file), 'utf8')
const { version, dependencies, devDependencies } = JSON.parse(read('package.json'))

describe('a release', function () {
  this.timeout(60_000)

  it('has an SBOM and a licence list of the packages that are shipped, by one command', () => {
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

  it('is in the list of changes', () => {
    assert.match(read('CHANGELOG.md'), new RegExp(`^## ${version.replaceAll('.', '\\.')}\\b`, 'm'))
  })

  it('has the events of the log in the runbook, those that the code logs and no others', () => {
    assert.ok(
      read('infra/runbook/failures.md').includes(`\n\n${logTable()}\n\n`),
      `The table must be:\n${logTable()}`,
    )
    const sources = ['apps/auth', 'apps/api', 'shared', 'infra/admin'].flatMap((folder) =>
      readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
        .filter((name) => name.endsWith('.ts'))
        .map((name) => read(join(folder, name))),
    )
    const events = new Set(
      sources.flatMap((text) => [...text.matchAll(/\bevent: '([a-z_.]+)'/g)].map(([, name]) => name)),
    )
    assert.deepEqual([...events].sort(), EVENT_NAMES.toSorted())
  })
})
