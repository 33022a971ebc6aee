import assert from 'node:assert/strict'
import { chmod } from 'node:fs/promises'
import { join } from 'node:path'
import { sharedFolder } from '../support/folder.ts'
import { startStackProcess } from '../support/start.ts'

/** What a shell may export for other work. Nothing of it is about this product. */
const OTHER_WORK = {
  PGHOST: 'db.example',
  PGPORT: '1',
  PGUSER: 'bob',
  PGPASSWORD: 'hunter2',
  PGDATABASE: 'other',
  PGSSLMODE: 'require',
  PGSSLROOTCERT: '/nonexistent',
  PGSSLNEGOTIATION: 'direct',
  PGOPTIONS: '-c search_path=other -c default_transaction_read_only=on',
  PGREPLICATION: 'database',
  PGSERVICE: 'production',
  PGTARGETSESSIONATTRS: 'read-only',
  PGCLIENTENCODING: 'LATIN1',
  NODE_PG_FORCE_NATIVE: '1',
  NODE_ENV: 'test',
  NODE_OPTIONS: '--max-old-space-size=96 --use-openssl-ca',
  NODE_USE_ENV_PROXY: '1',
  HTTP_PROXY: 'http://127.0.0.1:9',
  HTTPS_PROXY: 'http://127.0.0.1:9',
  NO_PROXY: 'intranet.example',
  HOST: '0.0.0.0',
  LANG: 'tr_TR.UTF-8',
  LC_ALL: 'xx_YY',
  TZ: 'Nowhere/Else',
  TMPDIR: '/nonexistent',
}

describe('npm start in a shell that is set up for other work', () => {
  const folder = sharedFolder()
  before(() => chmod(folder, 0o711))

  it('starts as in an empty one', async () => {
    const start = await startStackProcess({ dataDir: join(folder, 'data'), env: OTHER_WORK })
    try {
      await start.ready()
      assert.equal(start.stderr(), '')
    } finally {
      await start.stop()
    }
  })
})
