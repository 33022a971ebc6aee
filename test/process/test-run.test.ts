import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import Mocha from 'mocha'
import { newClientSecret } from '../../apps/api/accounts/new-ids.ts'
import { eventually } from '../support/eventually.ts'
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

  it('lets a store end that a test has stopped', async () => {
    const store = spawn('sh', ['-c', 'kill -STOP $$'], { cwd: run.at(''), env: { PATH: process.env.PATH } })
    const state = () => readFile(`/proc/${store.pid}/stat`, 'utf8')
    await eventually(async () => (await state()).includes(') T '))
    const ended = once(store, 'exit')
    await run.interrupt()
    assert.deepEqual(await ended, [0, null])
  })

  it('names and kills what is still running long after its end', async () => {
    const pid = await grandchild()
    const killed = await run.end(0)
    assert.equal(killed.filter((command) => command.includes('sleep 300')).length, 2)
    assert.equal(await readCommand(pid), '')
  })
})

describe('a failed test', () => {
  it('is printed with only the ends of secrets', () => {
    const [secret, token] = [newClientSecret(), `eyJhbGciOiJub25lIn0.${'a'.repeat(20)}.${'b'.repeat(20)}`]
    const err = Object.assign(new Error(`at ${secret}`), {
      actual: `${token}\n`,
      expected: '',
      showDiff: true,
    })
    const printed: string[] = []
    const { log } = console
    console.log = (text: string) => void printed.push(text)
    try {
      Mocha.reporters.Base.list([{ titlePath: () => ['fails'], err } as unknown as Mocha.Test])
    } finally {
      console.log = log
    }
    const text = printed.join('')
    for (const whole of [secret, token]) {
      assert.ok(text.includes(`…${whole.slice(-4)}`), text)
      assert.ok(!text.includes(whole), 'a whole secret')
    }
  })
})
