import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { AUDITED, NOT_AUDITED } from '#shared/process/events.ts'

const ROOT = join(import.meta.dirname, '../..')
const read = (file: string): string => readFileSync(join(ROOT, file), 'utf8')
const { version } = JSON.parse(read('package.json'))

describe('a release', () => {
  it('names the release in the list of changes', () => {
    assert.match(read('CHANGELOG.md'), new RegExp(`^## ${version.replaceAll('.', '\\.')}\\b`, 'm'))
  })

  it('explains each event of the log in the runbook, and says which are audited', () => {
    const rows = read('infra/runbook/failures.md').matchAll(EVENT_ROW)
    const explained = [...rows].flatMap(([, names = '', audited]) =>
      [...names.matchAll(/`([a-z_.]+)`/g)].map(([, name]) => ({ name, audited: audited !== undefined })),
    )
    const named = (is: boolean) => explained.filter(({ audited }) => audited === is).map(({ name }) => name)
    assert.deepEqual(named(true).sort(), [...AUDITED].sort())
    assert.deepEqual(named(false).sort(), [...NOT_AUDITED].sort())
  })

  it('has no event that nothing logs', () => {
    const sources = ['apps/auth', 'apps/api', 'shared', 'infra/admin'].flatMap((folder) =>
      readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
        .filter((name) => name.endsWith('.ts'))
        .map((name) => read(join(folder, name))),
    )
    const logged = sources.flatMap((text) =>
      [...text.matchAll(/\bevent: '([a-z_.]+)'/g)].map(([, name]) => name),
    )
    assert.deepEqual([...new Set(logged)].sort(), [...AUDITED, ...NOT_AUDITED].sort())
  })
})

/** A row of the runbook's table of the log: events, service, level and fields, then "yes" if audited. */
const EVENT_ROW = /^\| (`[a-z_.`, ]+`) \| (?:auth|API|both|admin)[^|]*\|[^|]*\|[^|]*\| (yes )?\|/gm
