import assert from 'node:assert/strict'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { listen } from '#shared/process/http-server.ts'
import { onFreePort } from '../../infra/local/ports.ts'
import { startPostgres } from '../../infra/local/postgres.ts'
import { startRedis } from '../../infra/local/redis.ts'
import { freePort } from '../support/ports.ts'
import { removeFolder, temporaryFolder } from '../support/start.ts'

describe('a store whose port is taken just before it listens', function () {
  this.timeout(30_000)
  const holder = createServer()
  let folder: string
  let ports: number[]
  before(async () => {
    folder = await temporaryFolder()
    const taken = await listen(holder as never, { host: '127.0.0.1', port: 0 })
    ports = [taken, await freePort()]
  })
  after(async () => {
    holder.close()
    await removeFolder(folder)
  })

  for (const [name, start] of [
    ['Postgres', (directory: string, port: number) => startPostgres({ directory, port, password: 'p' })],
    [
      'Redis',
      (directory: string, port: number) =>
        startRedis({ directory, port, passwords: { admin: 'a', auth: 'b', api: 'c' } }),
    ],
  ] as const)
    it(`is started on another: ${name}`, async () => {
      const left = [...ports]
      const store = await onFreePort(
        (port) => start(join(folder, name), port),
        async () => left.shift() as number,
      )
      await store.stop()
      assert.deepEqual(left, [])
    })
})
