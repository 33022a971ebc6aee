import assert from 'node:assert/strict'
import { parseYaml } from '../support/deployment.ts'
import { find, read } from '../support/project.ts'

const PAGES = find('apps/api/discovery/docs/pages/*.md').map(read).join('\n')
const RULES: Record<string, Record<string, string>> = parseYaml(read('test/docs/printed-programs.yaml'))
const COMMANDS: typeof RULES = parseYaml(read('test/docs/printed-commands.yaml'))

const codeOf = (file: string): string =>
  new RegExp(`^\`\`\`\\w+ ${file}\n([^]*?)^\`\`\`$`, 'm').exec(PAGES)?.[1] ?? assert.fail(file)

describe('the printed programs', () => {
  it('take the two numbers of a signature in PHP from where Perl does, which runs', () => {
    const php = [...codeOf('assertion.php').matchAll(/\$der(?:\[|, )(\d+)/g)].map(([, index]) =>
      Number(index),
    )
    const skipped = Number(/unpack "x(\d) C\/a x C\/a"/.exec(PAGES)?.[1])
    // A byte has the length of each number, and the x is another byte before the second.
    assert.deepEqual(php, [skipped, skipped + 1, skipped + 3])
  })

  for (const [rule, programs] of Object.entries(RULES))
    for (const [place, text] of Object.entries(programs))
      it(`say in ${place}: ${rule}`, () => {
        const [file = ''] = place.split(',')
        assert.equal(codeOf(file).split(text).length - 1, 1, text)
      })

  it('measure in each language by a clock that no one sets, and by the wall clock', () => {
    const MONOTONIC = /(time\.Since\(start\)|System\.nanoTime|time\.monotonic|performance\.now)/.source
    const WALL = /(time\.Now\(\)\.Round\(0\)|time\.Since\(next|Instant\.now|time\.time|Date\.now)/.source
    // In Go, a time is by both unless Round takes one away.
    const read = new RegExp(`${MONOTONIC}|${WALL}|time\\.Now`, 'g')
    for (const file of ['revocations.go', 'revocations.mjs', 'revocations.py', 'Revocations.java']) {
      const [, polled = ''] = codeOf(file).split(/^.*\b(?:func|function|def|void) poll\(/m)
      const clocks = [...polled.matchAll(read)].map(([, monotonic, wall]) =>
        monotonic ? 'm' : wall ? 'w' : 'mw',
      )
      assert.equal(clocks.join(''), 'mwmwmw', file)
    }
  })
})

describe('the printed commands', () => {
  for (const [page, parts] of Object.entries(COMMANDS))
    for (const [otherwise, part] of Object.entries(parts))
      it(`say in ${page} "${part.trim().split('\n')[0]}", or ${otherwise}`, () =>
        assert.ok(read(page).includes(part)))
})
