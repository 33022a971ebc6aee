import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, open, readFile, writeFile } from 'node:fs/promises'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { refused, runAdmin, succeeded } from '../support/admin.ts'
import { afterwards } from '../support/block.ts'
import { sharedFolder } from '../support/folder.ts'

describe('npm run admin', () => {
  const folder = sharedFolder()

  it('is a command of its own, with its exit code', () => {
    const args = ['run', '--silent', 'admin', '--', 'clients', 'destroy']
    const { status, stderr } = spawnSync('npm', args, { encoding: 'utf8' })
    assert.match(stderr, /error: unknown command 'destroy'/)
    assert.equal(status, 64)
  })

  it('says that its output is lost on a full disk, and exits with 1', async () => {
    await using full = await open('/dev/full', 'w')
    const args = ['infra/admin/main.ts', '--version']
    const { status, stderr } = spawnSync(process.execPath, args, { stdio: ['ignore', full.fd, 'pipe'] })
    assert.deepEqual([status, /^The output was lost, .*ENOSPC/.test(String(stderr))], [1, true])
  })

  it('prints its version', async () => {
    const { version } = JSON.parse(await readFile(new URL('../../package.json', import.meta.url), 'utf8'))
    const { stdout } = await succeeded(runAdmin(['--version'], { env: {} }))
    assert.equal(stdout, `${version}\n`)
  })

  for (const [what, pid] of [
    ['runs', undefined],
    ['has run since a stack was killed', spawnSync('true').pid],
  ] as const)
    it(`says where the admin command looked when nothing ${what}`, async () => {
      const urls = { databaseUrl: 'postgres://127.0.0.1:1/x', ownerUrl: 'x', redisUrl: 'x' }
      const stack = { ...urls, keyEncryptionKey: 'x', auditFile: 'x', pid }
      if (pid) await writeFile(join(folder, 'running.json'), JSON.stringify(stack))
      await refused(
        runAdmin(['company', 'list'], { env: { DATA_DIR: folder, DATABASE_URL: '' } }),
        `No local stack runs on ${folder}: start it with npm start, or set DATABASE_URL.\n`,
      )
    })

  it('says that it may not read what a running stack wrote', async () => {
    // Root may read everything.
    const env = { DATA_DIR: join(folder, 'another'), DATABASE_URL: '' }
    await mkdir(join(env.DATA_DIR, 'running.json'), { recursive: true })
    await refused(runAdmin(['company', 'list'], { env }), /^The command failed: EISDIR/)
  })

  it('says that the database does not answer, without its password', async () => {
    const silent = createServer()
    await using _ = afterwards(() => silent.close())
    await once(silent.listen(0, '127.0.0.1'), 'listening')
    const { port } = silent.address() as AddressInfo
    for (const [at, reason] of [
      [1, /^The command failed: .*ECONNREFUSED/],
      [port, /^The command failed: .*timeout/i],
    ] as const) {
      const env = { DATABASE_URL: `postgres://owner:hunter2@127.0.0.1:${at}/x` }
      const from_ms = performance.now()
      const { stderr } = await refused(runAdmin(['company', 'list'], { env }), reason)
      // The pool itself would give up after 30 s.
      assert.ok(performance.now() - from_ms < 25_000)
      assert.doesNotMatch(stderr, /hunter2|\n\s+at /)
    }
  })
})
