import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { EVENT_NAMES } from '../../infra/log-events.ts'

const ROOT = join(import.meta.dirname, '../..')
const read = (file: string): string => readFileSync(join(ROOT, file), 'utf8')
const { version } = JSON.parse(read('package.json'))

describe('a release', () => {
  it('names the release in the list of changes', () => {
    assert.match(read('CHANGELOG.md'), new RegExp(`^## ${version.replaceAll('.', '\\.')}\\b`, 'm'))
  })

  it('lists the log’s events in the runbook, those that the code logs and no others', () => {
    const sources = ['apps/auth', 'apps/api', 'shared', 'infra/admin'].flatMap((folder) =>
      readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
        .filter((name) => name.endsWith('.ts'))
        .map((name) => read(join(folder, name))),
    )
    const events = new Set(
      sources.flatMap((text) => [...text.matchAll(/\bevent: '([a-z_.]+)'/g)].map(([, name]) => name)),
    )
    assert.deepEqual([...events].sort(), EVENT_NAMES.toSorted())
  })
})
