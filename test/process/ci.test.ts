import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { chmodSync, readFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { writeFiles } from '../support/files.ts'
import { sharedFolder } from '../support/folder.ts'

const ROOT = join(import.meta.dirname, '../..')
/** Notes where and how it is called. The tests write TOTALS and end with CODE, and the call FAILING fails. */
const NPM = `#!/bin/sh
echo "$PWD npm $*" >> "$CALLS"
[ "$*" != test ] || { [ -z "$TOTALS" ] || echo "$TOTALS" > "$TEST_TOTALS"; exit "$CODE"; }
[ "$*" != "$FAILING" ]
`

describe('.ci/run', () => {
  const folder = sharedFolder()
  const calls = join(folder, 'calls')
  before(async () => {
    await writeFiles(folder, { npm: NPM, promtool: '#!/bin/sh\n' })
    for (const tool of ['npm', 'promtool']) chmodSync(join(folder, tool), 0o755)
  })

  for (const [what, result, last, code] of [
    ['everything passes', {}, '11 passed, 0 failed', 0],
    ['tests fail', { TOTALS: '5 2', CODE: '1' }, '9 passed, 2 failed', 1],
    ['the tests pass and a process is left', { CODE: '1' }, '11 passed, 1 failed', 1],
    ['the run of the tests ends without totals', { TOTALS: '' }, '4 passed, 1 failed', 1],
    ['no test runs', { TOTALS: '0 0' }, '4 passed, 1 failed', 1],
    ['the packages do not install', { FAILING: 'ci' }, '0 passed, 1 failed', 1],
    ['the types are wrong', { FAILING: 'run --silent typecheck' }, '10 passed, 1 failed', 1],
    ['the format is wrong', { FAILING: 'run --silent lint' }, '10 passed, 1 failed', 1],
  ] as [string, Record<string, string>, string, number][])
    it(`ends with "${last}" when ${what}`, () => {
      const PATH = folder + delimiter + process.env.PATH
      const env = { PATH, CALLS: calls, TOTALS: '7 0', CODE: '0', FAILING: '', ...result }
      const ended = spawnSync(join(ROOT, '.ci/run'), { cwd: folder, env, encoding: 'utf8' })
      assert.deepEqual([ended.stdout.trim().split('\n').at(-1), ended.status], [last, code], ended.stderr)
    })

  it('runs only scripts that package.json has, in the project, and a test that is there', () => {
    const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
    const called = readFileSync(calls, 'utf8').trim().split('\n')
    for (const call of called) assert.ok(call.startsWith(`${ROOT} npm `), call)
    const named = called.flatMap((call) => / run --silent (\S+)$/.exec(call)?.[1] ?? [])
    assert.ok(named.length > 10 && named.every((name) => name in scripts), `${named}`)
    const [, file = '', title = ''] = /mocha (\S+) --fgrep (.+)/.exec(called.join('\n')) ?? []
    assert.ok(readFileSync(join(ROOT, file), 'utf8').includes(title), title)
  })
})
