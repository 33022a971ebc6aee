import assert from 'node:assert/strict'
import { chmod, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { onFreePort } from '../../infra/local/ports.ts'
import { startPostgres } from '../../infra/local/postgres.ts'
import { startRedis } from '../../infra/local/redis.ts'
import { sharedFolder } from '../support/folder.ts'
import { freePort, withTakenPort } from '../support/ports.ts'
import { findProcesses } from '../support/start.ts'

describe('a Postgres of the local stack', () => {
  const folder = sharedFolder()
  before(() => chmod(folder, 0o711))

  it('uses no memory that a kill of Postgres would leave behind', async () => {
    const directory = join(folder, 'postgres')
    const postgres = await startPostgres({ directory, port: await freePort(), password: 'p' })
    const [server] = (await findProcesses(directory)).filter(({ command }) =>
      command.includes('listen_addresses'),
    )
    const mapped = await readFile(`/proc/${server?.pid}/maps`, 'utf8')
    await postgres.kill()
    assert.match(mapped, /pg_dynshmem/)
    assert.doesNotMatch(mapped.replaceAll(folder, ''), /\/dev\/shm\//)
  })
})

describe('a store whose port is taken just before it listens', () => {
  const folder = sharedFolder()

  for (const [name, start] of [
    ['Postgres', (directory: string, port: number) => startPostgres({ directory, port, password: 'p' })],
    [
      'Redis',
      (directory: string, port: number) =>
        startRedis({ directory, port, passwords: { admin: 'a', auth: 'b', api: 'c' } }),
    ],
  ] as const)
    it(`starts a store on another port: ${name}`, () =>
      withTakenPort(async (taken) => {
        const ports = [taken, await freePort()]
        const store = await onFreePort(
          (port) => start(join(folder, name), port),
          async () => ports.shift() as number,
        )
        await store.stop()
        assert.deepEqual(ports, [])
      }))
})

describe('a store that runs and does not answer', () => {
  const folder = sharedFolder()
  before(() => chmod(folder, 0o711))
  const passwords = { admin: 'hunter2', auth: 'hunter2', api: 'hunter2' }

  async function program(name: string, script: string): Promise<string> {
    const path = join(folder, name)
    await writeFile(path, `#!/bin/sh\n${script}\n`, { mode: 0o755 })
    return path
  }

  async function expectFailure(start: Promise<unknown>, expected: RegExp): Promise<void> {
    const { message } = await start.then(
      () => assert.fail('it answered'),
      (error: Error) => error,
    )
    assert.match(message, expected)
    assert.doesNotMatch(message, /hunter2/)
  }

  it('is reported at once if Postgres refuses the password', async () => {
    const directory = join(folder, 'postgres')
    const first = await startPostgres({ directory, port: await freePort(), password: 'p' })
    await first.stop()
    await expectFailure(
      startPostgres({ directory, port: await freePort(), password: 'hunter2' }),
      /^Postgres did not answer: password authentication failed for user "postgres"; its last words: .*authentication/,
    )
  })

  it('is reported with the last connect error and the last words: Postgres', async () => {
    const directory = join(folder, 'postgres')
    const postgres = await program(
      'postgres.sh',
      '[ "$1" = --version ] && echo 18.4 && exit; echo up; exec sleep 60',
    )
    const programs = { initdb: 'never', postgres }
    await expectFailure(
      startPostgres({ directory, port: await freePort(), password: 'hunter2', programs, deadline_ms: 500 }),
      /^Postgres did not answer: connect ECONNREFUSED 127\.0\.0\.1:\d+; its last words: up$/,
    )
  })

  it('is reported with the last connect error and the last words: Redis', async () => {
    const server = { command: await program('redis.sh', 'echo up; exec sleep 60'), env: {} }
    await expectFailure(
      startRedis({
        directory: join(folder, 'redis'),
        port: await freePort(),
        passwords,
        server,
        deadline_ms: 500,
      }),
      /^Redis did not answer: connect ECONNREFUSED 127\.0\.0\.1:\d+; its last words: up$/,
    )
  })
})
