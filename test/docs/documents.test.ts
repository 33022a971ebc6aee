import assert from 'node:assert/strict'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

const ROOT = join(import.meta.dirname, '../..')
const CONFIGURATION = [
  'shared/process/config.ts',
  'apps/auth/config.ts',
  'apps/api/config.ts',
  'apps/api/analytics/event-partitions.ts',
  'infra/local-settings.ts',
  'infra/database/migrate-settings.ts',
]
const read = (file: string): string => readFileSync(join(ROOT, file), 'utf8')

const documents = globSync(['*.md', '{.github,apps,shared,infra,test}/**/*.md'], {
  cwd: ROOT,
  exclude: ['**/dist/**'],
})

/** The anchors that GitHub gives to the headings of a page. */
const listAnchors = (page: string): string[] =>
  [...page.matchAll(/^#+ (.+)$/gm)].map(([, title = '']) =>
    title
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  )

describe('the documents', () => {
  for (const file of CONFIGURATION) {
    const variables = [...read(file).matchAll(/^\s+([A-Z][A-Z_]{3,}): /gm)].map(([, name]) => name as string)
    for (const name of new Set(variables)) {
      it(`document ${name}, which ${file} reads`, () => {
        assert.match(read('infra/SETTINGS.md'), new RegExp(`\\b${name}\\b`))
      })
    }
  }

  for (const document of documents) {
    for (const [, target = '', heading] of read(document).matchAll(/\]\(([^)#\s]+)(?:#([^)\s]+))?/g)) {
      // In braces: filled in where the page is served.
      if (/^(?:https?:|\{)/.test(target)) continue
      const file = join(dirname(document), target)
      it(`${document} links to ${target}${heading ? `#${heading}` : ''}, which is there`, () => {
        assert.ok(existsSync(join(ROOT, file)))
        // The pages of /docs get more anchors when they are served.
        if (heading && !file.startsWith('apps/api/discovery/'))
          assert.ok(listAnchors(read(file)).includes(heading))
      })
    }
  }

  it('keep each page of /docs within 1,200 words', () => {
    const pages = documents.filter((file) => file.startsWith('apps/api/discovery/docs/pages/'))
    assert.ok(pages.length > 20)
    // Nobody reads the errors as a page: `type` and `error_uri` lead to one of them.
    pages.splice(pages.indexOf('apps/api/discovery/docs/pages/errors.md'), 1)
    for (const page of pages) assert.ok(read(page).trim().split(/\s+/).length <= 1_200, page)
  })

  it('quote tests to contributors as they are', () => {
    const trimmed = (text: string) => text.replaceAll(/^\s+/gm, '')
    const page = read('test/README.md')
    const shown = [...page.matchAll(/\]\(([^)]+\.ts)\)[^`]*(?:`\w+`[^`]*)*```ts\n(.*?)```/gs)]
    assert.equal(shown.length, page.split('```ts').length - 1)
    for (const [, file = '', example = ''] of shown)
      assert.ok(trimmed(read(join('test', file))).includes(trimmed(example)), file)
  })

  it('name only functions that the files of the walk-through have', () => {
    const walk = read('apps/README.md')
    const steps = walk.split('\n').filter((line) => /^\d+\. /.test(line))
    assert.equal(steps.length, 25)
    for (const step of steps) {
      const files = [...step.matchAll(/\]\(([^)]+)\)/g)].map(([, file = '']) => join('apps', file))
      const names = [...step.matchAll(/`(\w+)`/g)].map(([, name = '']) => name)
      const texts = files.map(read).join('\n')
      for (const name of names) assert.match(texts, new RegExp(`\\b${name}\\b`), `${name} in ${files}`)
    }
  })

  it('name only scripts that package.json has', () => {
    const { scripts } = JSON.parse(read('package.json'))
    for (const document of documents) {
      for (const [, name = ''] of read(document).matchAll(/npm run (?:--silent )?([a-z][\w:-]*)/g))
        assert.ok(scripts[name], `${document}: npm run ${name}`)
    }
  })
})
