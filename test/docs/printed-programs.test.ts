import assert from 'node:assert/strict'
import { parseYaml } from '../support/deployment.ts'
import { find, read } from '../support/project.ts'

const PAGES = find('apps/api/discovery/docs/pages/*.md').map(read).join('\n')
const RULES: Record<string, Record<string, string>> = parseYaml(read('test/docs/printed-programs.yaml'))

const codeOf = (file: string): string =>
  new RegExp(`^\`\`\`\\w+ ${file}\n([^]*?)^\`\`\`$`, 'm').exec(PAGES)?.[1] ?? assert.fail(file)

describe('the printed programs', () => {
  it('take the two numbers of a signature from where DER has them in PHP', () => {
    const [lengthAt = 0, firstAt = 0, secondAt = 0] = [
      ...codeOf('assertion.php').matchAll(/\$der(?:\[|, )(\d+)/g),
    ].map(([, index]) => Number(index))
    const padded = (bytes: Buffer) => Buffer.concat([Buffer.alloc(32), bytes]).subarray(-32)
    // One in 256 numbers is shorter than 32 bytes, and every second one has a zero before it.
    for (const first of [Buffer.alloc(31, 1), Buffer.of(0, ...Buffer.alloc(32, 0x80))])
      for (const second of [Buffer.alloc(31, 2), Buffer.alloc(32, 3)]) {
        const parts = [first, second].flatMap((number) => [2, number.length, ...number])
        const der = Buffer.of(0x30, parts.length, ...parts)
        const length = der[lengthAt] ?? 0
        assert.deepEqual(padded(der.subarray(firstAt, firstAt + length)), padded(first))
        assert.deepEqual(padded(der.subarray(secondAt + length)), padded(second))
      }
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
