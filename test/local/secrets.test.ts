import assert from 'node:assert/strict'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openDataDir } from '../../infra/local/data-dir.ts'
import { localSecrets } from '../../infra/local/secrets.ts'

describe('the secrets of the local stack', () => {
  it('gain a password for the operator in a folder from before that role, and stay as they were', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'integration-access-secrets-'))
    const dataDir = await openDataDir(folder)
    try {
      const before = await localSecrets(dataDir)
      const file = dataDir.at('secrets.json')
      const stored = JSON.parse(await readFile(file, 'utf8'))
      delete stored.postgres.integration_operator
      await writeFile(file, JSON.stringify(stored))
      const { integration_operator, ...kept } = (await localSecrets(dataDir)).postgres
      assert.equal(integration_operator.length, 32)
      assert.deepEqual(
        { ...kept, integration_operator: before.postgres.integration_operator },
        before.postgres,
      )
    } finally {
      dataDir.release()
      await rm(folder, { recursive: true })
    }
  })
})
