import assert from 'node:assert/strict'
import { chmod, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { onFreePort } from '../../infra/local/ports.ts'
import { startPostgres } from '../../infra/local/postgres.ts'
import { startRedis } from '../../infra/local/redis.ts'
import { sharedFolder } from '../support/folder.ts'
import { freePort, withTakenPort } from '../support/ports.ts'
import { processesOf } from '../support/start.ts'

describe('a Postgres of the local stack', () => {
  const folder = sharedFolder()
  before(() => chmod(folder, 0o711))

  it('uses no memory that a kill of Postgres would leave behind', async () => {
    const directory = join(folder, 'postgres')
    const postgres = await startPostgres({ directory, port: await freePort(), password: 'p' })
    const [server] = (await processesOf(directory)).filter(({ command }) =>
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
