import { mkdtempSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Makes a folder for the tests of a block, which goes after the last of them. */
export function sharedFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'integration-access-test-'))
  after(() => rm(folder, { recursive: true, force: true }))
  return folder
}
