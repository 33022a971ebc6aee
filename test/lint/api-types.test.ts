import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const ROOT = join(import.meta.dirname, '../..')
const COMMITTED = join(ROOT, 'apps/workspace/src/api/openapi.d.ts')

describe("the workspace's API types", () => {
  it('matches the types to the OpenAPI document', () => {
    const folder = mkdtempSync(join(tmpdir(), 'integration-access-types-'))
    try {
      const document = execFileSync(process.execPath, ['apps/api/openapi-command.ts'], { cwd: ROOT })
      const program = join(ROOT, 'apps/workspace/api-types.ts')
      execFileSync(process.execPath, [program, '--schemas', join(folder, 'types.d.ts')], { input: document })
      assert.equal(
        readFileSync(COMMITTED, 'utf8'),
        readFileSync(join(folder, 'types.d.ts'), 'utf8'),
        'run npm run api-types and commit the file',
      )
    } finally {
      rmSync(folder, { recursive: true })
    }
  })
})
