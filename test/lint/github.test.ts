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

/** After which `.ci/run` ends the tests. What follows them takes a fifth of that at most. */
const TESTS_MAX_S = Number(/timeout --kill-after=30 (\d+) npm test/.exec(read('.ci/run'))?.[1])

describe('the files for GitHub', () => {
  for (const file of find('.github/workflows/*.yml')) {
    const { on, permissions, jobs } = load(read(file)) as Yaml
    const steps = Object.values<Yaml>(jobs).flatMap((job) => job.steps)

    it(`gives ${file} what its steps need, and no stranger a run with secrets`, () => {
      const needed = NEEDED.filter(([step]) => steps.some(({ uses, run }) => step.test(uses ?? run)))
      assert.deepEqual(permissions, Object.assign({}, ...needed.map(([, rights]) => rights)))
      assert.ok(!('pull_request_target' in on) && Object.values<Yaml>(jobs).every((job) => !job.permissions))
      const names = [...read(file).matchAll(/\b(secret|var)s\.(\w+)/g)]
      for (const [, kind, name] of names)
        assert.match(read('infra/runbook/release.md'), new RegExp(`the ${kind}(?:iables)? [^.]*\`${name}\``))
      for (const { env = {}, run = '' } of [...Object.values<Yaml>(jobs), ...steps]) {
        for (const [name, value] of Object.entries<string>(env))
          assert.match(value, new RegExp(`\\.(?:RELEASE_)?${name.replace('GH_TOKEN', 'token')} \\}\\}$`))
        if (/secrets\./.test(JSON.stringify(env))) assert.match(run, /^umask 077 && /)
      }
      assert.ok(steps.some(({ run }) => run === '.ci/run'))
      for (const job of Object.values<Yaml>(jobs)) assert.ok(job['timeout-minutes'] * 60 > 1.2 * TESTS_MAX_S)
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

  it('gives the script of a release its own options, each with its own image, as the runbook does', () => {
    const [, usage = ''] = /^USAGE='([^']+)'/m.exec(read('infra/deploy/release.sh')) ?? []
    const files = ['infra/runbook/release.md', '.github/workflows/release.yml']
    const calls = files.flatMap((file) => read(file).match(/npm run release -- .+/g) ?? [])
    assert.equal(calls.length, 2)
    assert.deepEqual(read(files[1] ?? '').match(/(?<= )release\/\S+$/gm), Array(2).fill('release/*/*'))
    for (const call of calls) {
      const options = [...call.matchAll(/ (--[a-z]\S+) (\S+)/g)].map(([, option = '', value = '']) => {
        assert.ok(usage.includes(`${option} `), option)
        return [option, /web|nginx/i.test(value), /\.pub\b/.test(value)]
      })
      const expected = '--key false false, --public-key false true, --base false false, --web-base true false'
      assert.equal(options.map((option) => option.join(' ')).join(', '), expected)
    }
    const [tested, released] = ['run: .ci/run', 'run: npm run release'].map((it) =>
      read(files[1] ?? '').indexOf(it),
    )
    assert.ok(tested && released && 0 < tested && tested < released)
    // The script wants a tag that is the version.
    const [tags = ''] = (load(read('.github/workflows/release.yml')) as Yaml).on.push.tags
    assert.match(JSON.parse(read('package.json')).version, new RegExp(`^${tags.replaceAll('.', '\\.')}$`))
    const { on, jobs } = load(read('.github/workflows/ci.yml')) as Yaml
    assert.ok('pull_request' in on)
    const [, tools = ''] = /apt-get (install \w+)\)/.exec(read('.ci/run')) ?? []
    assert.match(read('.github/workflows/ci.yml'), new RegExp(`apt-get ${tools.replace(' ', ' .*')}\n`))
    assert.ok(read(files[0] ?? '').includes(` Commit to \`${on.push.branches}\`, run `))
    const { with: given } = jobs.ci.steps.find(({ uses }: Yaml) => uses?.includes('/setup-node@'))
    assert.equal(`>=${given['node-version']}`, JSON.parse(read('package.json')).engines.node)
  })

  it('names an owner only of what is there, and of all that the audit guide lists', () => {
    const paths: string[] = read('.github/CODEOWNERS').match(/^\/\S+/gm) ?? []
    for (const path of paths) assert.ok(existsSync(join(ROOT, path)), path)
    const audited = [...read('apps/auth/README.md').matchAll(/^\| `([a-z/]+)` \| [\d,]+ \|/gm)]
    assert.ok(audited.length > 6)
    for (const [, folder] of audited) assert.ok(paths.includes(`/${folder}/`), folder)
  })
})
