import assert from 'node:assert/strict'
import { chmod, mkdtempDisposable, readdir, readFile, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { mock } from 'node:test'
import { runToEnd, startChild } from '../../infra/local/child.ts'
import { Lifecycle } from '../../infra/local/lifecycle.ts'
import { startPostgres } from '../../infra/local/postgres.ts'
import { startService } from '../../infra/local/service.ts'
import { StartError } from '../../infra/local/start-error.ts'
import { createDatabase } from '../../infra/local/stores.ts'
import { serviceEnvironment } from '../../infra/service-environment.ts'
import { afterwards, forEachTest } from '../support/block.ts'
import { passing, stoppedTime } from '../support/clock.ts'
import { eventually } from '../support/eventually.ts'
import { writeFiles } from '../support/files.ts'
import { freePort } from '../support/ports.ts'
import { startTcpReceiver } from '../support/receivers.ts'
import { freeze } from '../support/revocation.ts'
import { createTestRedis } from '../support/servers.ts'
import { findProcesses } from '../support/start.ts'

describe('a child process', () => {
  it('that is a service keeps the NODE_OPTIONS of whoever starts it, and caches no code under coverage', () => {
    const env = { NODE_OPTIONS: '--inspect', NODE_V8_COVERAGE: 'a' }
    const NODE_OPTIONS = '--max-semi-space-size=8 --expose-gc --inspect'
    assert.deepEqual(serviceEnvironment(env), { NODE_OPTIONS })
  })

  it('keeps a character of its output whose bytes arrive in two pieces', async () => {
    const program = `
      process.stdout.write(Buffer.of(0xc3))
      setTimeout(() => process.stdout.write(Buffer.of(0xab)), 100)
    `
    const child = startChild(process.execPath, ['-e', program])
    assert.equal(await child.ended, 'exit code 0')
    assert.equal(child.output(), 'ë')
  })

  it('may print more than anyone reads, and only the end of it is kept', async () => {
    const program = `console.error('x'.repeat(2e6) + ' end'); process.exitCode = Number(process.argv[1])`
    const exit = (code: string) => runToEnd([process.execPath, '-e', program, code], 'It failed')
    assert.equal(await exit('0'), '')
    await assert.rejects(exit('1'), new StartError(`It failed: ${'x'.repeat(3_996)} end`))
  })

  it('is killed ten seconds after it was told to end, though a process of its own keeps its output', async () => {
    const keeper = `require('node:child_process').spawn('sleep', ['60'], { detached: true, stdio: 'inherit' })`
    const program = `process.on('SIGTERM', () => {}); console.log(${keeper}.pid)`
    const child = startChild(process.execPath, ['-e', program])
    await eventually(() => child.output() !== '')
    await using _ = afterwards(() => process.kill(Number(child.output())))
    await passing(10_000, () => child.stop())
    assert.equal(child.end(), 'SIGKILL')
  })
})

describe('a store of the local stack that does not get on', () => {
  const folder = forEachTest(() => mkdtempDisposable(join(tmpdir(), 'integration-access-child-')))

  for (const [program, files, expected] of [
    ['initdb', {}, 'Postgres could not create its data directory: it took longer than 0.5 s.'],
    ['postgres', { PG_VERSION: '18\n' }, 'Postgres did not say its version: it took longer than 0.5 s.'],
  ] as const)
    it(`is given up if its ${program} does not end`, async () => {
      const [directory, hanging] = [join(folder.path, 'data'), join(folder.path, program)]
      await writeFiles(directory, files)
      await writeFile(hanging, `#!/bin/sh\ntrap '' TERM\nwhile :; do sleep 1; done\n`, { mode: 0o755 })
      const programs = { initdb: hanging, postgres: hanging }
      const starting = startPostgres({ directory, port: 1, password: 'p', programs, deadline_ms: 500 })
      await assert.rejects(
        starting,
        new StartError(`${expected} Start again when this machine is less busy.`),
      )
      assert.deepEqual(await readdir(folder.path), program === 'initdb' ? [program] : ['data', program])
    })

  it('is given up if Postgres does not answer, whatever the clock says', async () => {
    const [directory, postgres] = [join(folder.path, 'data'), join(folder.path, 'postgres')]
    await writeFiles(directory, { PG_VERSION: '18\n' })
    const program = '#!/bin/sh\n[ "$1" != --version ] || exec echo 18\nexec sleep 60\n'
    await writeFile(postgres, program, { mode: 0o755 })
    mock.timers.enable({ apis: ['Date'] })
    await using _ = afterwards(() => mock.timers.reset())
    const programs = { initdb: '', postgres }
    const starting = startPostgres({ directory, port: 1, password: 'p', programs, deadline_ms: 3_000 })
    await assert.rejects(starting, /Postgres did not answer: .*ECONNREFUSED.*; its last words: /)
  })

  it('is given up if it is a service that is not ready within a minute', async () => {
    const program = join(folder.path, 'idle.mjs')
    await writeFile(program, 'setInterval(() => console.log("waiting"), 500)')
    mock.timers.enable({ apis: ['Date'] })
    await using _ = afterwards(() => mock.timers.reset())
    using time = stoppedTime()
    const output = new PassThrough().on('data', () => time.advance(30_001))
    const starting = startService({
      ...{ name: 'The API', program, port: await freePort(), env: {}, signal: undefined },
      ...{ output, logLevel: 'warn', auditFile: '' },
    })
    const sentence = /^The API did not become ready; its last words:(?:\n {2}waiting){2,4}$/
    await assert.rejects(starting, { constructor: StartError, message: sentence })
  })

  it('takes its initdb with it when it is killed', async () => {
    await chmod(folder.path, 0o711)
    const initdb = join(folder.path, 'initdb')
    await writeFile(initdb, `#!/bin/sh\ntrap '' TERM INT\nwhile :; do sleep 1; done\n`, { mode: 0o755 })
    const programs = { initdb, postgres: '' }
    const options = { directory: join(folder.path, 'data'), port: 1, password: 'p', programs }
    const postgres = new URL('../../infra/local/postgres.ts', import.meta.url)
    const program = `(await import('${postgres}')).startPostgres(${JSON.stringify(options)})`
    const stack = startChild(process.execPath, ['--input-type=module', '-e', program])
    const running = async () =>
      (await findProcesses(folder.path)).filter(({ command }) => command.includes(initdb))
    // Before it is itself, what starts it may not have asked yet to end with its parent.
    await eventually(async () => (await running()).some(({ command }) => command.startsWith('/bin/sh ')))
    stack.process.kill('SIGKILL')
    await using _ = afterwards(async () => {
      for (const { pid } of await running()) process.kill(pid, 'SIGKILL')
    })
    await eventually(async () => (await running()).length === 0)
  })

  for (const [what, answer, reason] of [
    ['takes no connection', '', 'timeout expired'],
    // AuthenticationOk and ReadyForQuery.
    ['answers no statement', 'R\0\0\0\b\0\0\0\0Z\0\0\0\u0005I', 'Query read timeout'],
  ] as const)
    it(`is given up if it ${what} while the database is created`, async () => {
      await using server = await startTcpReceiver(
        (socket) => void socket.once('data', () => socket.write(answer)),
      )
      await assert.rejects(
        createDatabase(`postgres://127.0.0.1:${server.port}/db?sslmode=disable`, 100),
        new StartError(
          `Postgres could not create the database (${reason}): start again when this machine is less busy, ` +
            'or set DATA_DIR to a new folder.',
        ),
      )
    })
})

describe('a store of the local stack that does not stop', () => {
  it('is killed after 30 s if it is Postgres', async () => {
    await using folder = await mkdtempDisposable(join(tmpdir(), 'integration-access-child-'))
    const directory = join(folder.path, 'postgres')
    const server = await startPostgres({ directory, port: await freePort(), password: 'p' })
    await using _ = afterwards(server.kill)
    const pid = Number.parseInt(await readFile(join(directory, 'postmaster.pid'), 'utf8'), 10)
    process.kill(pid, 'SIGSTOP')
    await passing(30_000, () => server.stop())
    assert.match(await server.ended, /^SIGKILL/)
  })

  it('is killed after 5 s if it is Redis', async () => {
    await using server = await createTestRedis()
    await freeze(server)
    const { ended } = server
    await passing(5_000, () => server.stop())
    assert.match(await ended, /^SIGKILL/)
  })

  it('is left after a minute, whatever it is, and the others are stopped', async () => {
    const lifecycle = new Lifecycle()
    const { promise: stopped, resolve } = Promise.withResolvers<void>()
    lifecycle.add({ stop: async () => resolve() })
    lifecycle.add({ stop: () => new Promise(() => {}) })
    await passing(60_000, () => lifecycle.stop())
    await stopped
  })
})
