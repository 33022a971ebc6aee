import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { createTestRun, type TestRun } from '../support/test-run.ts'

describe('a run of the tests', () => {
  let run: TestRun
  let child: ChildProcess
  beforeEach(async () => {
    run = await createTestRun(randomUUID())
    child = start(run.env)
  })
  afterEach(() => child.kill('SIGKILL'))

  /** It starts another in a session of its own, which outlives it. */
  const start = (env: Record<string, string>) =>
    spawn('sh', ['-c', 'setsid sleep 300 & echo $!; exec sleep 300'], {
      env: { PATH: process.env.PATH, ...env },
      stdio: ['ignore', 'pipe', 'ignore'],
    })

  async function grandchild(): Promise<number> {
    const [printed] = await once(child.stdout as NodeJS.EventEmitter, 'data')
    return Number(printed)
  }

  /** Empty when it has ended, even if no one has asked how. */
  const readCommand = (pid: number) => readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')

  it('leaves neither a process nor its folder when it is interrupted', async () => {
    const pid = await grandchild()
    const file = run.at('file')
    await writeFile(file, '')
    await run.interrupt()
    assert.equal(child.signalCode ?? (await once(child, 'exit'))[1], 'SIGKILL')
    assert.equal(await readCommand(pid), '')
    assert.equal(existsSync(run.env.TMPDIR as string), false)
  })

  it('leaves the processes of another run alone', async () => {
    await grandchild()
    const other = await createTestRun(randomUUID())
    await other.interrupt()
    assert.equal(child.signalCode, null)
    await run.interrupt()
  })

  it('names and kills what is still running long after its end', async () => {
    const pid = await grandchild()
    const killed = await run.end(0)
    assert.equal(killed.filter((command) => command.includes('sleep 300')).length, 2)
    assert.equal(await readCommand(pid), '')
  })
})
