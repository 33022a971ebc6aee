import { strict as assert } from 'node:assert'
import { readFileSync } from 'node:fs'
import { causeWords } from '#shared/rules/refusal-causes.ts'
import { BROWSER_CLOCK } from '../../apps/workspace/src/api/time.ts'
import { recordedTexts } from '../support/recorded.ts'

describe('the words for a cause', () => {
  const { assertRecorded } = recordedTexts(new URL('causes.txt', import.meta.url), [])
  const source = readFileSync(new URL('../../apps/api/refusals/reasons.ts', import.meta.url), 'utf8')
  const NAME = /^ {4}(?!advice)(\w+)(?:: (?!['`])|,$)/gm
  const explained = [...source.matchAll(NAME)].map(([, reason = '']) => reason)

  it('are few, for each that the API explains and for any other', () => {
    const words = [...new Set([...explained, 'new_one'])].map((cause) => `${cause}: ${causeWords(cause)}`)
    assertRecorded('words', words.join('\n'))
  })
})

describe('since when something lasts', () => {
  const now = new Date(2026, 10, 23, 12, 0)
  for (const [at, words] of [
    [new Date(2026, 10, 23, 0, 0), '00:00'],
    [new Date(2026, 10, 22, 23, 59), 'Sun 23:59'],
    [new Date(2026, 10, 17, 12, 0), 'Tue 12:00'],
    [new Date(2026, 10, 17, 11, 59), '17 Nov 2026'],
  ] as const)
    it(`says that something lasts ${words}`, () => assert.equal(BROWSER_CLOCK.since(at, now), words))
})
