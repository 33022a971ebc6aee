import assert from 'node:assert/strict'
import { runAdmin, spawnAdmin } from '../support/admin.ts'
import { removeFolder, temporaryFolder } from '../support/start.ts'

const COMMANDS = [
  'analytics import',
  'company create',
  'company list',
  'member add',
  'member list',
  'member set-role',
  'member set-status',
  'password reset',
  'clients list',
  'clients revoke',
  'keys list',
  'keys rotate',
  'keys revoke',
  'analytics import',
]

describe('npm run admin', () => {
  for (const name of COMMANDS) {
    it(`explains ${name} with an example of it`, async () => {
      const { code, stdout } = await runAdmin([...name.split(' '), '--help'], { env: {} })
      assert.equal(code, 0)
      assert.match(stdout, new RegExp(`\\nExample:\\n {2}npm run admin -- ${name}`))
      assert.doesNotMatch(stdout, /--password/)
    })
  }

  it('is a command of its own, with its exit code', async () => {
    const { code, stderr } = await spawnAdmin(['clients', 'destroy'], { env: {} })
    assert.equal(code, 64)
    assert.match(stderr, /error: unknown command 'destroy'/)
  })

  it('takes what is piped into it', async () => {
    const { code, stderr } = await spawnAdmin(['password', 'reset', 'a@b.example'], {
      env: { DATABASE_URL: 'postgres://owner@127.0.0.1:1/x' },
      input: 'a long enough password',
    })
    assert.equal(code, 1)
    assert.match(stderr, /ECONNREFUSED/)
  })

  it('lists its commands', async () => {
    const { code, stdout } = await runAdmin(['--help'], { env: {} })
    assert.equal(code, 0)
    for (const name of ['company', 'member', 'password', 'clients', 'keys', 'analytics'])
      assert.match(stdout, new RegExp(name))
  })

  for (const args of [
    ['clients', 'destroy'],
    ['frobnicate'],
    ['clients', 'list'],
    ['clients', 'list', 'a', 'b'],
  ]) {
    it(`refuses ${args.join(' ')}`, async () => {
      const { code, stderr } = await runAdmin(args, { env: {} })
      assert.equal(code, 64)
      assert.match(stderr, /^error: /)
    })
  }

  it('says where it looked when nothing runs', async () => {
    const folder = await temporaryFolder()
    const { code, stderr } = await runAdmin(['company', 'list'], {
      env: { DATA_DIR: folder, DATABASE_URL: '' },
    })
    assert.equal(code, 1)
    assert.equal(
      stderr,
      `No local stack runs on ${folder}: start it with npm start, or set DATABASE_URL to the database that is meant.\n`,
    )
    await removeFolder(folder)
  })

  it('says that the database does not answer, without its password', async () => {
    const { code, stderr } = await runAdmin(['company', 'list'], {
      env: { DATABASE_URL: 'postgres://owner:hunter2@127.0.0.1:1/x' },
    })
    assert.equal(code, 1)
    assert.match(stderr, /^The command failed: .*ECONNREFUSED/)
    assert.doesNotMatch(stderr, /hunter2|\n\s+at /)
  })

  it('names a variable that is wrong', async () => {
    const { code, stderr } = await runAdmin(['company', 'list'], { env: { DATABASE_URL: 'mysql://x' } })
    assert.equal(code, 78)
    assert.match(stderr, /DATABASE_URL: must be a URL that starts with postgres:\/\//)
  })
})
