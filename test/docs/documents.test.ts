import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

const ROOT = join(import.meta.dirname, '../..')
const CONFIGURATION = [
  'shared/process/config.ts',
  'apps/auth/config.ts',
  'apps/api/config.ts',
  'infra/local/settings.ts',
  'infra/migrate-settings.ts',
]
const read = (file: string): string => readFileSync(join(ROOT, file), 'utf8')

const documents = execFileSync('git', ['ls-files', '-co', '--exclude-standard', '*.md', '.github/*.md'], {
  cwd: ROOT,
  encoding: 'utf8',
})
  .trim()
  .split('\n')

describe('the documents', () => {
  for (const file of CONFIGURATION) {
    const variables = [...read(file).matchAll(/^\s+([A-Z][A-Z_]{3,}): /gm)].map(([, name]) => name as string)
    for (const name of new Set(variables)) {
      it(`tell of ${name}, which ${file} reads`, () => {
        assert.match(read('infra/SETTINGS.md'), new RegExp(`\\b${name}\\b`))
      })
    }
  }

  for (const document of documents) {
    for (const [, target = ''] of read(document).matchAll(/\]\(([^)#\s]+)/g)) {
      // In braces: filled in where the page is served.
      if (/^(?:https?:|\{)/.test(target)) continue
      it(`${document} links to ${target}, which is there`, () => {
        assert.ok(existsSync(join(ROOT, dirname(document), target)))
      })
    }
  }

  it('name only scripts that package.json has', () => {
    const { scripts } = JSON.parse(read('package.json'))
    for (const document of documents) {
      for (const [, name = ''] of read(document).matchAll(/npm run (?:--silent )?([a-z][\w:-]*)/g))
        assert.ok(scripts[name], `${document}: npm run ${name}`)
    }
  })
})
