import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { refused, runAdmin, spawnAdmin, succeeded } from '../support/admin.ts'
import { removeFolder, temporaryFolder } from '../support/start.ts'

const COMMANDS = [
  'analytics import',
  'company create',
  'company list',
  'company erase',
  'member add',
  'member list',
  'member set-role',
  'member set-status',
  'member unlink',
  'person export',
  'person erase',
  'password reset',
  'client list',
  'client revoke',
  'key list',
  'key rotate',
  'key reencrypt',
  'key revoke',
  'service create',
  'service list',
  'service revoke',
  'config reference',
  'redis-users',
  'audit export',
  'audit compare',
  'restore fence',
  'restore status',
  'restore confirm',
]

describe('npm run admin', () => {
  for (const name of COMMANDS) {
    it(`explains ${name} with an example of it`, async () => {
      const { stdout } = await succeeded(runAdmin([...name.split(' '), '--help'], { env: {} }))
      assert.match(stdout, new RegExp(`\\nExample:\\n {2}npm run admin -- ${name}`))
      assert.doesNotMatch(stdout, /--password/)
    })
  }

  it('is a command of its own, with its exit code', async () => {
    await refused(spawnAdmin(['clients', 'destroy'], { env: {} }), /error: unknown command 'destroy'/, 64)
  })

  it('ends quietly when the reader of its output has seen enough', async () => {
    const child = spawn(process.execPath, ['infra/admin/main.ts', 'config', 'reference'])
    child.stdout.destroy()
    let stderr = ''
    child.stderr.on('data', (chunk) => {
      stderr += chunk
    })
    const [code] = await once(child, 'close')
    assert.deepEqual([code, stderr], [0, ''])
  })

  it('takes piped input', async () => {
    await refused(
      spawnAdmin(['password', 'reset', 'a@b.example'], {
        env: { DATABASE_URL: 'postgres://owner@127.0.0.1:1/x' },
        input: 'a long enough password',
      }),
      /ECONNREFUSED/,
    )
  })

  it('lists its commands', async () => {
    const { stdout } = await succeeded(runAdmin(['--help'], { env: {} }))
    for (const name of [
      'company',
      'member',
      'person',
      'password',
      'client',
      'key',
      'analytics',
      'config',
      'redis-users',
      'restore',
    ])
      assert.match(stdout, new RegExp(`^  ${name}`, 'm'))
  })

  for (const [one, many] of [
    ['client', 'clients'],
    ['company', 'companies'],
    ['member', 'members'],
    ['key', 'keys'],
  ] as const)
    it(`takes ${one} and ${many} alike`, async () => {
      const singular = await runAdmin([one, '--help'], { env: {} })
      const plural = await runAdmin([many, '--help'], { env: {} })
      assert.equal(plural.code, 0)
      assert.equal(plural.stdout, singular.stdout)
    })

  it('prints its version', async () => {
    const { version } = JSON.parse(await readFile(new URL('../../package.json', import.meta.url), 'utf8'))
    const { stdout } = await succeeded(runAdmin(['--version'], { env: {} }))
    assert.equal(stdout, `${version}\n`)
  })

  for (const args of [
    ['clients', 'destroy'],
    ['frobnicate'],
    ['clients', 'list'],
    ['clients', 'list', 'a', 'b'],
  ]) {
    it(`refuses ${args.join(' ')}`, async () => {
      await refused(runAdmin(args, { env: {} }), /^error: /, 64)
    })
  }

  it('says where the admin command looked when nothing runs', async () => {
    const folder = await temporaryFolder()
    await refused(
      runAdmin(['company', 'list'], {
        env: { DATA_DIR: folder, DATABASE_URL: '' },
      }),
      `No local stack runs on ${folder}: start it with npm start, or set DATABASE_URL.\n`,
    )
    await removeFolder(folder)
  })

  it('says that the database does not answer, without its password', async () => {
    const { stderr } = await refused(
      runAdmin(['company', 'list'], {
        env: { DATABASE_URL: 'postgres://owner:hunter2@127.0.0.1:1/x' },
      }),
      /^The command failed: .*ECONNREFUSED/,
    )
    assert.doesNotMatch(stderr, /hunter2|\n\s+at /)
  })

  it('names an invalid variable', async () => {
    await refused(
      runAdmin(['company', 'list'], { env: { DATABASE_URL: 'mysql://x' } }),
      /DATABASE_URL: must be a URL that starts with postgres:\/\//,
      78,
    )
  })
})
