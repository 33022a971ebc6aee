import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { withoutBeats } from '../support/beats.ts'
import { forBlock } from '../support/block.ts'
import { ROOT } from '../support/project.ts'
import { createTestDatabase } from '../support/servers.ts'

/** What the shell of someone who works with another database may export. */
const OTHER_DATABASE = {
  PGOPTIONS: '-c search_path=other -c default_transaction_read_only=on',
  PGREPLICATION: 'database',
  PGSSLNEGOTIATION: 'direct',
  NODE_PG_FORCE_NATIVE: '1',
  // ioredis and knex would print passwords and rows.
  DEBUG: '*',
}

describe('a shell that is set up for another database', () => {
  const database = forBlock(createTestDatabase)

  const run = (args: string[], env: Record<string, string>) =>
    spawnSync(process.execPath, args, { cwd: ROOT, env: { ...process.env, ...env }, encoding: 'utf8' })

  it('does not reach the admin command', () => {
    const env = { ...OTHER_DATABASE, DATABASE_URL: database.operatorUrl }
    const { stdout, stderr, status } = run(['infra/admin/main.ts', 'service', 'list', '--json'], env)
    assert.deepEqual([withoutBeats(stderr), status, stdout], ['', 0, '[]\n'])
  })

  it('does not reach a migration', () => {
    const env = { ...OTHER_DATABASE, PGSSLMODE: 'require', DATABASE_URL: database.ownerUrl }
    const { stdout, stderr, status } = run(['infra/admin/migrate-command.ts'], env)
    assert.deepEqual([withoutBeats(stderr), status, stdout], ['', 0, 'The database is up to date.\n'])
  })
})
