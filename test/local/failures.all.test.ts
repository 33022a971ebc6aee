import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { chmod, mkdir, readdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { onPath } from '../../infra/local/child.ts'
import { sharedFolder } from '../support/folder.ts'
import { stackPorts } from '../support/ports.ts'
import { startStackProcess } from '../support/start.ts'

describe('the process of npm start that cannot', () => {
  const folder = sharedFolder()
  let dataDir: string
  beforeEach(() => {
    dataDir = join(folder, randomUUID())
  })

  /** Expects this text and no more, a code that is not 0, and nothing left running. */
  async function expectProcessToFail(
    expected: RegExp,
    { env = {}, code = 1, args = [] }: { env?: Record<string, string>; code?: number; args?: string[] } = {},
  ): Promise<void> {
    const start = await startStackProcess({ dataDir, env, args })
    assert.equal(await start.ended(), code, start.stderr())
    const text = start.stderr().trim()
    assert.match(text, expected)
    assert.doesNotMatch(text, /\n\s+at |node:internal|hunter2/)
    assert.doesNotMatch(start.stdout(), /^ready/m)
    assert.deepEqual(await start.running(), [])
  }

  it('refuses to be production', async () => {
    await expectProcessToFail(/^NODE_ENV is production, but npm start runs a demo/, {
      env: { NODE_ENV: 'production' },
      code: 78,
    })
  })

  it('keeps the password that it made until a start has shown it', async () => {
    await chmod(folder, 0o711)
    await expectProcessToFail(/refuses its settings\.$/, { env: { RATE_TOKENS: '1/60' }, code: 78 })
    const start = await startStackProcess({ dataDir })
    try {
      await start.ready()
      const password = /Password +(\S+) +\(shown only once\)/.exec(start.stdout())?.[1]
      const body = JSON.stringify({ email: 'owner@acme.example', password })
      const headers = { 'Content-Type': 'application/json' }
      const { status } = await fetch(`${start.baseUrl}/v1/session`, { method: 'POST', headers, body })
      assert.equal(status, 201)
      assert.ok(!(await readdir(dataDir)).includes('demo-password'))
    } finally {
      start.process.kill('SIGHUP')
      await start.ended()
    }
    assert.equal(await start.ended(), 0)
  })

  it('lets one of two starts at once win, whichever, and tells the other', async () => {
    await chmod(folder, 0o711)
    const env = await stackPorts()
    const both = await Promise.all([1, 2].map(() => startStackProcess({ dataDir, env })))
    try {
      const first = await Promise.race(both.map(async (start) => [await start.ended(), start.stderr()]))
      assert.deepEqual(first, [
        1,
        `\nAnother local stack is running on DATA_DIR ${dataDir}: stop it first, or choose another DATA_DIR and PORT.\n`,
      ])
      await Promise.any(both.map((start) => start.ready()))
    } finally {
      await Promise.all(both.map((start) => start.stop()))
    }
  })

  it('says what to do when there is no Redis and no way to get one', async () => {
    const bin = join(folder, 'bin')
    await mkdir(bin)
    // All that a start needs but apt and Redis; `node` as it would be found by npm.
    for (const name of ['setpriv', 'sh']) {
      const path = await onPath(name)
      if (path) await symlink(path, join(bin, name))
    }
    // One that is too old is as good as none.
    await writeFile(join(bin, 'redis-server'), '#!/bin/sh\necho "Redis server v=6.0.16 sha=0 bits=64"\n', {
      mode: 0o755,
    })
    await expectProcessToFail(
      /^No Redis server of version 7 or newer was found on the PATH, and none could be fetched \(this machine has no apt\): install redis-server or valkey-server, or set REDIS_URL to a server that runs\.$/,
      { env: { PATH: bin, XDG_CACHE_HOME: join(folder, 'cache') } },
    )
    // Before a Postgres was made.
    assert.deepEqual(await readdir(dataDir), ['secrets.json'])
  })
})
