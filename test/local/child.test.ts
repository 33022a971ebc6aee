import assert from 'node:assert/strict'
import { mkdtempDisposable, readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startChild } from '../../infra/local/child.ts'
import { startPostgres } from '../../infra/local/postgres.ts'
import { afterwards } from '../support/block.ts'
import { passing } from '../support/clock.ts'
import { eventually } from '../support/eventually.ts'
import { freePort } from '../support/ports.ts'
import { freeze } from '../support/revocation.ts'
import { createTestRedis } from '../support/servers.ts'

describe('a child process', () => {
  it('keeps a character of its output whose bytes arrive in two pieces', async () => {
    const program = `
      process.stdout.write(Buffer.of(0xc3))
      setTimeout(() => process.stdout.write(Buffer.of(0xab)), 100)
    `
    const child = startChild(process.execPath, ['-e', program])
    assert.equal(await child.ended, 'exit code 0')
    assert.equal(child.output(), 'ë')
  })

  it('is killed if it has not ended ten seconds after it was told to', async () => {
    const program = `process.on('SIGTERM', () => {}); setInterval(() => {}, 1e6); console.log('deaf')`
    const child = startChild(process.execPath, ['-e', program])
    await eventually(() => child.output() === 'deaf')
    await passing(10_000, () => child.stop())
    assert.equal(child.end(), 'SIGKILL')
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
})
