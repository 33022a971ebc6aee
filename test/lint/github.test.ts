import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { load } from 'js-yaml'
import type { Yaml } from '../support/deployment.ts'
import { find, ROOT, read } from '../support/project.ts'

/** What the actions and programs of a step need to do. */
const NEEDED: [step: RegExp, permissions: Record<string, string>][] = [
  [/^actions\/checkout@/, { contents: 'read' }],
  [/^actions\/attest-build-provenance@/, { 'id-token': 'write', attestations: 'write' }],
  [/^gh release create /, { contents: 'write' }],
]

describe('the files for GitHub', () => {
  for (const file of find('.github/workflows/*.yml')) {
    const { on, permissions, jobs } = load(read(file)) as Yaml
    const steps = Object.values<Yaml>(jobs).flatMap((job) => job.steps)

    it(`gives ${file} what its steps need, and no stranger a run with secrets`, () => {
      const needed = NEEDED.filter(([step]) => steps.some(({ uses, run }) => step.test(uses ?? run)))
      assert.deepEqual(permissions, Object.assign({}, ...needed.map(([, rights]) => rights)))
      assert.ok(!('pull_request_target' in on) && Object.values<Yaml>(jobs).every((job) => !job.permissions))
      const names = [...read(file).matchAll(/\b(?:secrets|vars)\.(\w+)/g)].map(([, name]) => name)
      for (const name of names) assert.ok(read('infra/runbook/release.md').includes(`\`${name}\``), name)
      for (const { environment } of Object.values<Yaml>(jobs))
        assert.equal(environment, names.length > 0 ? 'release' : undefined)
    })

    it(`runs in ${file} only actions that nobody can exchange, which keep no right to push`, () => {
      for (const { uses, with: given } of steps.filter((step) => step.uses)) {
        assert.match(uses, /^[\w-]+\/[\w-]+@[0-9a-f]{40}$/)
        if (uses.includes('/checkout@')) assert.equal(given['persist-credentials'], false)
      }
    })
  }

  it('names an owner only of what is there', () => {
    const paths = read('.github/CODEOWNERS').match(/^\/\S+/gm) ?? []
    assert.ok(paths.length > 4)
    for (const path of paths) assert.ok(existsSync(join(ROOT, path)), path)
  })
})
