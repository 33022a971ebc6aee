import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { openSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { sharedFolder } from '../support/folder.ts'

const MODULE = JSON.stringify(new URL('../../shared/process/log.ts', import.meta.url).href)
const LINES = 40

/** Runs a process that logs and ends as `ending` says. */
const run = (ending: string, stdout: 'pipe' | number) => {
  const program = `const { createLog } = await import(${MODULE})
    const log = createLog({ service: 'test', level: 'info' })
    for (let i = 0; i < ${LINES}; i++) log.info({ i }, 'x'.repeat(100))
    ${ending}`
  const args = ['--input-type=module', '--eval', program]
  const stdio = ['ignore' as const, stdout, 'pipe' as const]
  return spawnSync(process.execPath, args, { encoding: 'utf8', stdio, timeout: 120_000 })
}

const numbers = (text: string): number[] => {
  const lines = text.split('\n').filter(Boolean)
  return lines.map((line) => JSON.parse(line).i).sort((a, b) => a - b)
}

describe('the log', () => {
  const all = Array.from({ length: LINES }, (_, i) => i)
  const directory = sharedFolder()

  for (const [how, ending] of [
    ['exits', 'process.exit(0)'],
    ['has nothing left to do', ''],
  ] as const)
    it(`writes every line to a pipe, the last ones in any order, when the process ${how}`, () =>
      assert.deepEqual(numbers(run(ending, 'pipe').stdout), all))

  it('writes every line to a file, the last ones in any order, when the process fails', () => {
    const file = join(directory, 'log')
    run("throw new Error('on purpose')", openSync(file, 'a'))
    assert.deepEqual(numbers(readFileSync(file, 'utf8')), all)
  })

  it('writes the last lines of a process once a full disk has room again', () => {
    const file = join(directory, 'room')
    const work = `const { write } = process.stderr
      let failed = false
      process.stderr.write = (text) => {
        failed = true
        return write.call(process.stderr, text)
      }
      const fs = await import('node:fs')
      const pause = () => new Promise((go) => setTimeout(go, 150))
      while (!failed) await pause()
      fs.closeSync(1)
      fs.openSync(${JSON.stringify(file)}, 'a')
      for (; fs.fstatSync(1).size === 0; await pause()) log.info('more')
      await pause()
      log.info({ i: ${LINES} }, 'the last')`
    const { stderr } = run(`${work}; process.exit(0)`, openSync('/dev/full', 'a'))
    assert.match(stderr, /ENOSPC/)
    assert.ok(readFileSync(file, 'utf8').includes('the last'))
  })

  for (const [how, ending, status] of [
    ['exits', 'process.exit(0)', 0],
    ['fails', "throw new Error('on purpose')", 1],
    ['has nothing left to do', 'log.flush()', 0],
  ] as const)
    it(`ends the log on a full disk when the process ${how}, and says why lines are lost`, () => {
      const work =
        "for (let i = 0; i < 3; i++) { await new Promise((go) => setTimeout(go, 150)); log.info('more') }"
      const { status: ended, stderr } = run(`${work}; ${ending}`, openSync('/dev/full', 'a'))
      assert.equal(ended, status)
      assert.equal(stderr.match(/The log cannot be written: ENOSPC/g)?.length, 1)
    })
})
