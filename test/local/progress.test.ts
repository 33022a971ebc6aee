import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { announce, createStatusLine, heartbeat } from '../../infra/progress.ts'
import { eventually } from '../support/eventually.ts'

const REPLACED = '\r\x1b[Kone\r\x1b[Ktwo\r\x1b[Kthree\n'

describe('the progress of a command', () => {
  let shown: string[]
  const show = (line: string) => shown.push(line)
  beforeEach(() => {
    shown = []
  })

  it('says nothing of short work, and returns its result', async () => {
    const result = await heartbeat(show, () => 'Working', sleep(100, 'done'))
    assert.deepEqual([result, shown], ['done', []])
  })

  it('repeats what long work does until it fails, and not after', async () => {
    const failing = eventually(() => shown.length === 3).then(() => Promise.reject(new Error('out of order')))
    await assert.rejects(announce(show, 'Working', failing), /out of order/)
    // A timer may be early by less than a millisecond.
    assert.match(shown.join(), /^Working,Working \(1 s\),Working \([23] s\)$/)
    const { length } = shown
    await sleep(1_600)
    assert.equal(shown.length, length)
  })

  for (const [what, terminal, expected] of [
    ['prints lines where there is no terminal', {}, 'one\ntwo\nthree\n'],
    ['replaces a line on a terminal, but not one that was printed', { isTTY: true, columns: 4 }, REPLACED],
    ['replaces a line on a terminal that does not know its width', { isTTY: true, columns: 0 }, REPLACED],
    ['cuts a line that would wrap', { isTTY: true, columns: 3 }, '\r\x1b[Kon\r\x1b[Ktw\r\x1b[Kthree\n'],
  ] as const)
    it(what, () => {
      let written = ''
      const write = (text: string) => {
        written += text
      }
      const status = createStatusLine({ write, ...terminal })
      status.show('one')
      status.show('two')
      status.print('three')
      status.clear()
      assert.equal(written, expected)
    })
})
