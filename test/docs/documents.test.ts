import assert from 'node:assert/strict'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import type { Command, CommanderError } from 'commander'
import { apiShape } from '../../apps/api/config.ts'
import { authShape } from '../../apps/auth/config.ts'
import { OPERATOR_SHAPE } from '../../infra/admin/operator.ts'
import { createProgram } from '../../infra/admin/program.ts'
import { MIGRATE_SHAPE } from '../../infra/database/migrate-settings.ts'
import { findService } from '../../infra/local/gateway/route.ts'
import { LOCAL_SHAPE } from '../../infra/local-settings.ts'
import { COMPOSE } from '../support/deployment.ts'
import { SERVED_PATHS } from '../support/served-paths.ts'

const ROOT = join(import.meta.dirname, '../..')
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

/** The code of a page: each line of a block, and each span between backticks. */
const listCode = (page: string): string[] => {
  const blocks = [...page.matchAll(/^ *```.*\n([\s\S]*?)^ *```$/gm)].flatMap(([, code = '']) =>
    code.split('\n'),
  )
  const spans = page.replaceAll(/^ *```[\s\S]*?^ *```$/gm, '').matchAll(/`([^`\n]+)`/g)
  return [...blocks, ...[...spans].map(([, code = '']) => code)]
}
const codeOf = new Map(documents.map((document) => [document, listCode(read(document))]))

/** Every match of a pattern's first group in the code of all documents, with the document. */
const findInCode = (pattern: RegExp): [document: string, match: string][] =>
  [...codeOf].flatMap(([document, code]) =>
    code.flatMap((line) =>
      [...line.matchAll(pattern)].map(([, match = '']) => [document, match] as [string, string]),
    ),
  )

const NOTHING = { write: () => true }
const newProgram = () =>
  createProgram({ stdout: NOTHING, stderr: NOTHING as unknown as NodeJS.WritableStream }, async () => {})
const GROUPS = newProgram().commands.flatMap((command) => [command.name(), ...command.aliases()])
/** After the command that runs it, or alone where a group of commands begins it. */
const ADMIN_CALL = new RegExp(
  `(?:npm run (?:--silent )?admin -- |run --rm admin |admin/main\\.ts |^(?:admin )?(?=(?:--as \\S+ )?(?:${GROUPS.join('|')}) [a-z]))((?:(?! [|>&]|;)[^\`])+)`,
  'g',
)

/** The options of the command that these words name. */
function listOptions(words: string[]): (string | undefined)[] {
  const program = newProgram()
  const command = words.reduce<Command>(
    (group, word) => group.commands.find((each) => [each.name(), ...each.aliases()].includes(word)) ?? group,
    program,
  )
  return ['--help', ...[...program.options, ...command.options].map(({ long }) => long)]
}

/** Parses the call by the command's own parser. Returns what is wrong with it. */
async function parseAdminCall(call: string): Promise<string | undefined> {
  const words = [...call.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, plain = '']) => quoted ?? plain)
  // Only named, or shortened: what it still needs may be missing.
  const isShort = words.includes('…') || words.length <= 2 || /^--/.test(words.at(-1) ?? '')
  const hasPlaceholder = words.some((word) => /…|^[A-Z]{2,}$/.test(word))
  const unknown = words.filter((word) => /^--./.test(word) && !listOptions(words).includes(word))
  if (unknown.length > 0) return `unknown: ${unknown}`
  try {
    await newProgram().parseAsync(
      words.filter((word) => word !== '…'),
      { from: 'user' },
    )
    return undefined
  } catch (error) {
    const { code = 'invalid value', message } = error as CommanderError
    if (code === 'commander.helpDisplayed' || code === 'commander.help') return undefined
    if (isShort && /missing/i.test(code)) return undefined
    return hasPlaceholder && /invalid/.test(code) ? undefined : message
  }
}

describe('the documents', () => {
  for (const document of documents)
    for (const [, name, target = '', heading] of read(document).matchAll(
      /(?:\[([\w-]+\.(?:ts|sql|yaml|md)))?\]\(([^)#\s]+)(?:#([^)\s]+))?/g,
    )) {
      // In braces: filled in where the page is served.
      if (/^(?:https?:|\{)/.test(target)) continue
      const file = join(dirname(document), target)
      it(`${document} links to ${target}${heading ? `#${heading}` : ''}, which is there`, () => {
        assert.ok(existsSync(join(ROOT, file)))
        if (name) assert.equal(basename(target), name)
        // The pages of /docs get more anchors when they are served.
        if (heading && !file.startsWith('apps/api/discovery/'))
          assert.ok(listAnchors(read(file)).includes(heading))
      })
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

  it('call only admin commands that the command’s own parser accepts', async () => {
    const calls = findInCode(ADMIN_CALL)
    assert.ok(calls.length > 60, `${calls.length}`)
    for (const [file, call] of calls)
      assert.equal(await parseAdminCall(call.trim()), undefined, `${file}: ${call}`)
  })

  it('name only paths of both services that they serve', () => {
    const served = [...SERVED_PATHS.auth, ...SERVED_PATHS.api, '/metrics'].map(
      (path) => new RegExp(`^${path.replaceAll('.', '\\.').replaceAll(/\{\w+\}/g, '[^/]+')}$`),
    )
    const named = findInCode(
      /(?:^|[\s'"(]|\{(?:base_url|issuer)\}|BASE_URL|api\.example\.com)(\/(?:v1|docs|openapi|healthz|readyz|metrics|llms\.txt|\.well-known)\b[^\s'"`)?#|;,]*)/g,
    )
    assert.ok(named.length > 80, `${named.length}`)
    for (const [document, path] of named) {
      // `/v1/*` and a path that goes on in another string name what lies below.
      const beginning = /[/*[]$/.test(path) && `^${path.replace(/[^/]*$/, '')}`
      const isServed = (pattern: RegExp) =>
        beginning ? pattern.source.replaceAll('\\', '').startsWith(beginning) : pattern.test(path)
      assert.ok(served.some(isServed), `${document}: ${path}`)
    }
  })

  it('name only files and folders that are there', () => {
    const named = findInCode(/(?<![\w./:@-])((?:apps|shared|infra|test|\.ci|\.github)\/[\w.@/*{},-]*)/g)
    assert.ok(named.length > 80, `${named.length}`)
    for (const [document, text] of named) {
      const path = text.replace(/[.,]$/, '')
      // Built, or the name of a test.
      if (path.startsWith('apps/workspace/dist') || existsSync(join(ROOT, `test/${path}.test.ts`))) continue
      assert.ok(globSync(path, { cwd: ROOT }).length > 0, `${document}: ${text}`)
    }
  })

  it('name only files in .data that the local stack writes', () => {
    const sources = globSync('infra/{*,local/**/*}.ts', { cwd: ROOT }).map(read).join('\n')
    const named = findInCode(/\.data\/([\w.-]+)/g)
    assert.ok(named.length > 0)
    for (const [document, file] of named) assert.ok(sources.includes(`'${file}'`), `${document}: ${file}`)
  })

  it('name only settings that a program reads', () => {
    const shapes = { ...authShape, ...apiShape, ...MIGRATE_SHAPE, ...OPERATOR_SHAPE, ...LOCAL_SHAPE }
    const settings = Object.keys(shapes)
    const families = new Set(settings.map((name) => name.split('_')[0]))
    const named = findInCode(/(?<![\w$-])([A-Z][A-Z0-9]*_[A-Z0-9_]+)\b(?!…)/g)
    const unknown = named.filter(
      ([document, name]) =>
        families.has(name.split('_')[0]) &&
        !(document.startsWith('apps/api/discovery/') && !name.startsWith('INTEGRATION_')) &&
        !settings.includes(name.replace(/_FILE$/, '')) &&
        // The integrator's own.
        !codeOf.get('apps/api/discovery/docs/pages/index.md')?.some((line) => line.split('=')[0] === name),
    )
    assert.deepEqual(unknown, [])
  })

  it('draw each service with what its settings lead it to, behind the routes of the gateway', () => {
    const [, diagram = ''] = /^```mermaid\nflowchart LR\n(.*?)^```/ms.exec(read('README.md')) ?? []
    const arrows = [...diagram.matchAll(/^ {2}(\w+)\b.*? -+\.?(?: "([^"]*)" [-.]+)?> (\w+)\b/gm)]
    const led = { DATABASE_URL: 'postgres', REDIS_URL: 'redis', JWKS_URL: 'auth', SMTP_URL: 'person' }
    for (const [name, shape] of Object.entries({ auth: authShape, api: apiShape })) {
      const drawn = arrows.flatMap(([, from, , to]) => (from === name && to !== 'receiver' ? to : []))
      const expected = Object.entries(led).flatMap(([setting, to]) => (setting in shape ? to : []))
      assert.deepEqual(drawn.sort(), expected.sort())
    }
    const routes = arrows.filter(([, from, path]) => from === 'gateway' && path?.startsWith('/'))
    assert.equal(routes.length, 2)
    for (const [, , path = '', to] of routes) assert.equal(findService(path), to, path)
  })

  it('name each decision as its page does', () => {
    const rows = read('.github/CONTRIBUTING.md').matchAll(/^\| (.+) \| \[.+\]\(\.\.\/(.+\/docs\/.+)\) \|$/gm)
    const titles = Object.fromEntries([...rows].map(([, title, file = '']) => [file, `# ${title}`]))
    for (const file of globSync('{apps,infra,shared}/**/docs/*.md', { cwd: ROOT }))
      assert.ok(read(file).startsWith(`${titles[file]}\n`), file)
  })

  it('lead each proxy that asks about tokens from port 8000 to 9000', () => {
    const page = read('apps/api/discovery/docs/pages/verify-proxies.md')
    for (const [block, language] of page.matchAll(/^```(\w+) .+?^```$/gms)) {
      if (['js', 'lua'].includes(language ?? '')) continue
      const ports = block.matchAll(/(?:127\.0\.0\.1:|^:| :|=:|port_value: )(\d{4})\b/gm)
      assert.deepEqual(new Set([...ports].map(([, port]) => port)), new Set(['8000', '9000']), block)
    }
  })

  it('name only services of compose.yaml', () => {
    const named = findInCode(/docker compose (?:run --rm|up --detach --no-deps|exec|logs) ([a-z][\w-]*)/g)
    assert.ok(named.length > 4)
    for (const [document, name] of named) assert.ok(name in COMPOSE.services, `${document}: ${name}`)
  })

  it('generate the key that encrypts others as its setting says', () => {
    const generated = findInCode(/(openssl rand [\w -]*\d)/g).filter(
      ([file]) => !file.startsWith('apps/api/'),
    )
    assert.ok(generated.length > 2)
    for (const [file, command] of generated) assert.equal(command, 'openssl rand -base64 32', file)
  })

  it('name only scripts that package.json has', () => {
    const { scripts } = JSON.parse(read('package.json'))
    for (const document of documents)
      for (const [, name = ''] of read(document).matchAll(/npm run (?:--silent )?([a-z][\w:-]*)/g))
        assert.ok(scripts[name], `${document}: npm run ${name}`)
  })
})
