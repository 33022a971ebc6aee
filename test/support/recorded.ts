import assert from 'node:assert/strict'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { eventually } from './eventually.ts'

/** What is different in each run, and what is written instead. */
export type Difference = [pattern: RegExp, written: string]

/**
 * Texts that the tests of a file compare whole. They are in a file of their own, each below `## ` and its
 * name. With `UPDATE_RECORDED=1` the texts of this run replace them, to be read as a change. Those that it
 * did not reach are kept, unless every test of the block passed.
 */
export function recordedTexts(file: URL, differences: Difference[]) {
  const isWritten = process.env.UPDATE_RECORDED !== undefined
  const before = existsSync(file) ? readFileSync(file, 'utf8') : ''
  const parts = before.split(/^## /m).slice(1)
  const recorded = new Map(
    parts.map((part) => [part.split('\n', 1)[0], part.slice(part.indexOf('\n') + 1).trim()]),
  )
  const texts: typeof recorded = isWritten ? new Map() : recorded
  after(function () {
    if (!isWritten) return
    let isWhole = true
    this.test?.parent?.eachTest(({ state }) => {
      isWhole &&= state === 'passed'
    })
    const all = isWhole ? texts : new Map([...recorded, ...texts])
    writeFileSync(file, Array.from(all, ([name, text]) => `## ${name}\n${text}\n`).join('\n'))
  })
  const withoutDifferences = (text: string) =>
    differences.reduce((left, difference) => left.replaceAll(...difference), text).trim()
  function assertSame(name: string, read: string): void {
    const recorded = texts.get(name) ?? ''
    if (read === recorded) return
    const [actual, expected] = differing(read, recorded)
    throw new assert.AssertionError({ message: name, actual, expected, operator: 'strictEqual' })
  }
  return {
    /** @throws AssertionError if the text is another one. */
    assertRecorded(name: string, text: string): void {
      const read = withoutDifferences(text)
      if (isWritten && !texts.has(name)) texts.set(name, read)
      assertSame(name, read)
    },

    /**
     * Reads until the text is the recorded one. Written is one that has not changed for half a second while
     * `isIdle`, or for five.
     */
    async eventuallyRecorded(name: string, read: () => Promise<string>, isIdle = () => true): Promise<void> {
      let last: string | undefined
      const isNow = async (text?: string) => {
        last = withoutDifferences(await read())
        return last === text
      }
      if (isWritten && !texts.has(name)) {
        let changed_ms = performance.now()
        const isSettled = async () => {
          if (!(await isNow(last))) changed_ms = performance.now()
          return performance.now() - changed_ms > (isIdle() ? SETTLED_MS : SETTLED_BUSY_MS)
        }
        await eventually(isSettled, { every_ms: 100 })
        texts.set(name, last ?? '')
      }
      const inTime = eventually(() => isNow(texts.get(name)), { limit_ms: 30_000, every_ms: 200 })
      await inTime.catch(() => assertSame(name, last ?? ''))
    },
  }
}

const SETTLED_MS = 500
const SETTLED_BUSY_MS = 5_000
const LINES_AROUND = 12

/** Returns the lines from the first to the last that differ, with some around: a diff of more is cut off. */
function differing(read: string, recorded: string): [string, string] {
  const [a, b] = [read.split('\n'), recorded.split('\n')]
  const shorter = Math.min(a.length, b.length)
  let [before, after] = [0, 0]
  while (before < shorter && a[before] === b[before]) before += 1
  while (after < shorter - before && a.at(-1 - after) === b.at(-1 - after)) after += 1
  const part = (lines: string[]) =>
    lines
      .slice(Math.max(0, before - LINES_AROUND), lines.length - Math.max(0, after - LINES_AROUND))
      .join('\n')
  return [part(a), part(b)]
}
