import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import type { Command, CommanderError } from 'commander'
import { STATEMENT_MAX_MS } from '#shared/stores/postgres.ts'
import { analyticsEventSchema } from '../../apps/api/analytics/event.ts'
import { apiShape } from '../../apps/api/config.ts'
import { authShape } from '../../apps/auth/config.ts'
import { OPERATOR_SHAPE } from '../../infra/admin/operator.ts'
import { createProgram } from '../../infra/admin/program.ts'
import { listSettings } from '../../infra/admin/setting-reference.ts'
import { MIGRATE_SHAPE } from '../../infra/database/migrate-settings.ts'
import { findService } from '../../infra/local/gateway/route.ts'
import { DEMO_COMPANIES } from '../../infra/local/seed/companies.ts'
import { LOCAL_SHAPE } from '../../infra/local-settings.ts'
import { COMPOSE } from '../support/deployment.ts'
import { find, ROOT, read } from '../support/project.ts'
import { SERVED_PATHS } from '../support/served-paths.ts'

const documents = find(['*.md', '{.github,apps,shared,infra,test}/**/*.md'])

const PAGES = documents.filter((file) => file.startsWith('apps/api/discovery/docs/pages/'))
/** What a program sends, reads or prints: paths, settings, fields and figures. */
const WORD = /integration_\w+|\/v1\/[\w/]*|[a-z_]+(?:-[a-z]+)*|\d\d+/g
/** What an example need not have: it prints JSON as it came, or says 204 by its name. */
const LESS: Record<string, string> = {
  'Daily.java': 'totals orders revenueminor 100 currency',
  'Receiver.java': 'type vendorid sentat 400',
  'receiver.go': '204 400',
}

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

const readAll = (pattern: string | string[]): string => find(pattern).map(read).join('\n')
const PRODUCT = readAll([
  '{apps,shared,infra}/**/*.{ts,tsx,sql,json,yaml,conf,service,sh}',
  '.github/**/*.yml',
])
/** Of programs and the settings of others, which name things themselves: no call, query or answer does. */
const BLOCKS = documents.flatMap((document) =>
  [...read(document).matchAll(/^ *```(\w*)[\s\S]*?^ *```$/gm)].flatMap(([block, language = '']) =>
    /^(?:console|env|http|json|mermaid|sh|sql)?$/.test(language) ? [] : block,
  ),
)
const KNOWN = new Set(
  `${PRODUCT}\n${BLOCKS.join('\n')}`.match(/\w+(?:\.\w+)*/g)?.flatMap((it) => [it, ...it.split('.')]),
)
/** Names of other programs, of which these documents speak. */
const FOREIGN = read('test/docs/foreign-names.txt').split(/\s+/)
const SETTINGS = { ...authShape, ...apiShape, ...MIGRATE_SHAPE, ...OPERATOR_SHAPE, ...LOCAL_SHAPE }
const FAMILIES = new Set(Object.keys(SETTINGS).map((name) => name.split('_')[0]))
const INTEGRATORS = codeOf.get('apps/api/discovery/docs/pages/index.md') ?? []
const FILES = new Set(find('{*,{apps,shared,infra,test,.github}/**/*}').map((file) => basename(file)))
const SCRIPTS = JSON.parse(read('package.json')).scripts
const isKnown = (name: string) => KNOWN.has(name) || FILES.has(name) || FOREIGN.includes(name)
const RELEASE_PAGE = read('infra/runbook/release.md')

/** What documents name, each in the first group, and whether it is there. */
const NAMED: [what: string, pattern: RegExp, isThere: (name: string, document: string) => boolean][] = [
  [
    'files and folders',
    /(?<![\w./:@-])((?:apps|shared|infra|test|\.ci|\.github)\/[\w.@/*{},-]*)/g,
    (name) => {
      const path = name.replace(/[.,]$/, '')
      // Built, or the name of a test.
      const isOther = path.startsWith('apps/workspace/dist') || existsSync(join(ROOT, `test/${path}.test.ts`))
      return isOther || find(path).length > 0
    },
  ],
  [
    'files without their folder',
    /(?<![\w./:@*-])([\w-]+\.(?:md|tsx?|ya?ml|conf|sh|sql|service|env))(?![\w.:-])/g,
    (name) => isKnown(name) || PRODUCT.includes(name),
  ],
  [
    'files in .data',
    /\.data\/([\w.-]+)/g,
    (name) => readAll('infra/{*,local/**/*}.ts').includes(`'${name}'`),
  ],
  [
    'files of a machine',
    /(\/(?:etc\/integration|run\/(?:integration|secrets)|opt\/integration|srv)(?![\w-])[\w/.-]*)/g,
    (name) => PRODUCT.includes(/\/[^/]+\.(?!cred)\w+$/.test(name) ? name : dirname(name)),
  ],
  [
    'tables, metrics, events and fields',
    /(?<![\w./$@-])([a-z][a-z0-9]*(?:_[a-z0-9]+)+(?:\.[a-z_]+)*|[a-z]+(?:[A-Z][a-z]+)+|[a-z]{2,}\.[a-z_]+)(?![\w./:(@-])/g,
    (name, document) => isKnown(name) || /^test\/|RFC|security/.test(document),
  ],
  [
    'settings',
    /(?<![\w$-])([A-Z][A-Z0-9]*_[A-Z0-9_]+)\b(?!…)/g,
    (name, document) =>
      !FAMILIES.has(name.split('_')[0]) ||
      (document.startsWith('apps/api/discovery/') && !name.startsWith('INTEGRATION_')) ||
      name.replace(/_FILE$/, '') in SETTINGS ||
      INTEGRATORS.some((line) => line.split('=')[0] === name),
  ],
  ['services', /docker compose (?:run --rm|up .*|exec|logs) ([a-z][\w-]*)/g, (it) => it in COMPOSE.services],
  ['scripts', /npm run (?:--silent )?([a-z][\w:-]*)/g, (name) => name in SCRIPTS],
  // npm's own lines would come before the JSON.
  ['scripts whose output is read', /npm run ([^`]*--json|[^`]+[|>])/g, (it) => it.startsWith('--silent ')],
  ['ids', /(?<![\w/])([a-z]{3}_)(?=…|$)/g, (it) => read('apps/api/accounts/new-ids.ts').includes(it)],
  // Where the two services have addresses of their own, one of them has nothing at the paths of the other.
  [
    'paths of a service below its own address',
    /\{(issuer\}\/[^\s"'`)]+|base_url\}\/v1[^\s"'`)]*)/g,
    (it) => it.startsWith('issuer') === (findService(it.replace(/^\w+\}/, '')) === 'auth'),
  ],
  ['checks of releases', /^(minisign -Vm .+)/g, (line) => RELEASE_PAGE.includes(`\n${line}\n`)],
  ['eviction policies', /maxmemory-policy (\S+)/g, (policy) => policy === 'noeviction'],
  ['Go modules', /^\t"(github\.com\/.+)"$/g, (it, page) => !!/go get .*/.exec(read(page))?.[0].includes(it)],
  ['dumps that pg_restore reads', /pg_dump --format=(\w+)/g, (format) => format !== 'plain'],
  ['ways to start one container', /docker compose up ((?:--\S+ )+)\w/g, (it) => it.includes('--no-deps')],
  ['mounts', /mountPath: (\/run\/\S+),/g, (folder, page) => read(page).includes(`value: ${folder}/`)],
  [
    'values of settings',
    /(?<![\w$])([A-Z][A-Z_]+=[a-z0-9_]+)(?![\w…:/.+-])/g,
    (it) => {
      const [name = '', value] = it.split('=')
      return new Map(Object.entries(SETTINGS)).get(name)?.safeParse(value).success ?? true
    },
  ],
  ['ports of SMTP', /smtp(s?:\/\/\S+:\d+)/g, (it) => it.startsWith('s') === it.endsWith(':465')],
  ['selectors', /--selector app=(\S+)/g, (app) => PRODUCT.includes(`\n  labels: { app: ${app} }\n`)],
  ['options of services', /apps\/\w+\/main\.ts (--.+)$/g, (it) => PRODUCT.includes(`join() !== '${it}'`)],
  ['journals', /journalctl (.+)/g, (it) => it.includes('-o cat')],
  ['searches', /grep -F '(.+?)'/g, (it) => JSON.stringify(JSON.parse(`{${it}}`)) === `{${it}}`],
  ['cures of what only reads', /^alter .*?(\w+) default_transaction/g, (it) => it === 'reset'],
  ['units', /^(?:journalctl|systemctl) .*?(integration[\w-]+)/g, (it) => FILES.has(`${it}.service`)],
  ['modes of PgBouncer', /^pool_mode = (\w+)/g, (mode) => authShape.DATABASE_POOLER.safeParse(mode).success],
  [
    'algorithms of tokens',
    /\b([HERP]S\d{3})\b/g,
    (it, page) => !page.includes('/verify') || ['ES256', 'RS256'].includes(it),
  ],
  // A service gives up meanwhile.
  ['waits', /^server_(?:connect_timeout|login_retry) = (\d+)/g, (s) => Number(s) * 2_000 < STATEMENT_MAX_MS],
  ['lives of connections that cures wait for', /^server_lifetime = (\d+)/g, (life_s) => Number(life_s) <= 60],
  ['directives of nginx', /^((?:max_fails|proxy_next_upstream)\b.+)/g, (it) => PRODUCT.includes(it)],
  ['images', /^for name in (.+); do skopeo/g, (it) => PRODUCT.includes(` images=(${it}) `)],
  // The signature of a JWT is two numbers.
  ['signatures in Java', /"(SHA\w+withECDSA\w*)"/g, (it) => it.endsWith('inP1363Format')],
  ['new keys', /(openssl rand [\w -]*\d)/g, (it, page) => /^apps\/api/.test(page) || / -base64 32$/.test(it)],
]

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
    assert.ok(PAGES.length > 20)
    // Nobody reads the errors as a page: `type` and `error_uri` lead to one of them.
    for (const page of PAGES)
      if (!page.endsWith('errors.md')) assert.ok(read(page).trim().split(/\s+/).length <= 1_200, page)
  })

  it('send and read in Go, Java and PHP what their examples for Node and Python do, which run', () => {
    const wordsIn = (text: string): string[] => text.toLowerCase().replaceAll('crypto', '').match(WORD) ?? []
    const compared = PAGES.flatMap((page) => [
      ...read(page).matchAll(/(?:^```\w+.*\n[\s\S]*?^```\n\n?){2,}/gm),
    ])
      .map(([group]) => [...group.matchAll(/^```\w+ (\S+)\n([\s\S]*?)^```$/gm)])
      .map((programs) => programs.map(([, file = '', code = '']) => ({ file, code })))
      .flatMap((programs) => {
        const [node, python] = ['.mjs', '.py'].map((end) => programs.find(({ file }) => file.endsWith(end)))
        if (!node || !python) return []
        // In Python, what is sent or read is between quotes.
        const texts = python.code
          .replaceAll(/"{3}[\s\S]*?"{3}|^import .*|timeout=\d+/gm, '')
          .match(/"[^"\n]*"|\b\d\d+\b/g)
        const shared = wordsIn(texts?.join('\n') ?? '').filter((word) => wordsIn(node.code).includes(word))
        const others = programs.filter(({ file }) => /\.(?:go|java|php)$/.test(file))
        for (const { file, code } of others) {
          const lacking = shared.filter((word) => !wordsIn(code).includes(word))
          assert.deepEqual([...new Set(lacking)].join(' '), LESS[file] ?? '', file)
        }
        return others
      })
    assert.ok(compared.length > 20, `${compared.length}`)
  })

  it('make, before each restore, the roles that a dump grants rights to', () => {
    const roles = new Set(read('infra/database/migrate.ts').match(/\bintegration_\w+/g))
    for (const page of ['infra/runbook/backup.md', 'infra/runbook/containers.md']) {
      const made = [...read(page).matchAll(/create role (\w+)(?=[;`'])/g)].map(([, role]) => role)
      assert.deepEqual(new Set(made), roles, page)
    }
  })

  it('quote tests to contributors as they are', () => {
    const trimmed = (text: string) => text.replaceAll(/^\s+/gm, '')
    const page = read('test/README.md')
    const shown = [
      ...page.matchAll(/\]\(([^)]+\.(?:ts|yaml))\)[^`]*(?:`\w+`[^`]*)*```(?:ts|yaml)\n(.*?)```/gs),
    ]
    assert.equal(shown.length, page.split(/```(?:ts|yaml)\n/).length - 1)
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
      /(?:^|[\s'"(…]|\{(?:base_url|issuer)\}|BASE_URL|api\.example\.com)(\/(?:v1|docs|openapi|healthz|readyz|metrics|llms\.txt|\.well-known)\b[^\s'"`)?#|;,]*)/g,
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

  for (const [what, pattern, isThere] of NAMED)
    it(`name only ${what} that are there`, () => {
      const named = findInCode(pattern)
      assert.ok(named.length > 0)
      for (const [document, name] of named) assert.ok(isThere(name, document), `${document}: ${name}`)
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

  it('give the settings of the local stack in the README the defaults that they have', () => {
    const defaults = new Map(listSettings(LOCAL_SHAPE).map(({ name, fallback }) => [name, fallback]))
    const rows = [...read('README.md').matchAll(/^\| `([A-Z_]+)`(?:, `(\w+)`)? \| (.+?) \|/gm)]
    assert.ok(rows.length > 7)
    for (const [, first = '', second, cell = ''] of rows) {
      const expected = [first, second].flatMap((name) => (name ? [defaults.get(name)] : []))
      assert.equal(cell.replaceAll('`', ''), expected.join(', ').replaceAll('`', ''), first)
    }
  })

  it('say of each person of the demo what the seed allows', () => {
    const rows = read('README.md').matchAll(/^\| (`.+@.+`) \| `(\w+)`.* \| (.+) \|$/gm)
    const said = [...rows].flatMap(([, emails = '', vendorId, access]) =>
      emails.split(', ').map((email) => [email.replaceAll('`', ''), vendorId, access === 'full']),
    )
    const allowed = DEMO_COMPANIES.flatMap(({ company, people }) =>
      people.map(({ email, role, status }) => {
        return [email, company.vendorId, role !== 'member' && status === 'active']
      }),
    )
    assert.deepEqual(said, allowed)
  })

  it('say which events have a quantity and an amount, as their schema does', () => {
    const page = read('apps/api/discovery/docs/pages/events.md')
    const types = (pattern: RegExp) => [...(pattern.exec(page) ?? [])].slice(1)
    const having = (member: string) =>
      analyticsEventSchema.options.flatMap(({ shape }) => (member in shape ? shape.type.value : []))
    const without = types(/^\| `quantity` \|.* Not for `(\w+)`\. \|$/m)
    assert.deepEqual([...having('quantity'), ...without], having('eventId'))
    assert.deepEqual(types(/^\| `amountMinor` \|.* Only for `(\w+)` and `(\w+)`,/m), having('amountMinor'))
  })

  it('name each decision as its page does, and list each page of the runbook', () => {
    const list = read('infra/README.md').toLowerCase()
    for (const file of find('infra/runbook/*.md')) {
      const [, when = ''] =
        new RegExp(`\\| (.+) \\| .+\\]\\(runbook/${basename(file)}\\) \\|\n`).exec(list) ?? []
      const [title = ''] = read(file).toLowerCase().split('\n')
      assert.ok(
        title.match(/\b(?!with)[a-z]{4}/g)?.some((word) => when.includes(word)),
        file,
      )
    }
    const rows = read('.github/CONTRIBUTING.md').matchAll(/^\| (.+) \| \[.+\]\(\.\.\/(.+\/docs\/.+)\) \|$/gm)
    const titles = Object.fromEntries([...rows].map(([, title, file = '']) => [file, `# ${title}`]))
    for (const file of find('{apps,infra,shared}/**/docs/*.md'))
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

  it('let each proxy pass what is answered with 200 alone, and no company that a caller has invented', () => {
    const page = read('apps/api/discovery/docs/pages/verify-proxies.md')
    const found = (pattern: RegExp) => pattern.exec(page)?.[1] ?? assert.fail(String(pattern))
    const prefixes = [...page.matchAll(/request_header -(\S+)\*$/gm)].map(([, prefix]) => prefix)
    // WSGI, CGI and PHP read all of these as HTTP_X_VENDOR_ID.
    for (const removed of [
      found(/del-header (\S+) -m reg$/m),
      found(/authResponseHeadersRegex: \(\?i\)(\S+)$/m),
      `^(?:${found(/request_headers_to_remove: \[(.+)\]$/m).replaceAll(', ', '|')})$`,
      `^(?:${prefixes.join('|')})`,
    ])
      for (const name of ['X-Vendor-Id', 'X_Vendor_Id', 'X-Vendor_Id', 'X_Vendor-Id'])
        assert.match(name, new RegExp(removed, 'i'))
    const rule = /return status (\d+)(?: hdr .*)? (if|unless) \{ var\(txn\.status\) -m int (\d+) \}$/gm
    const rules = [...page.matchAll(rule)].map(([, ...parts]) => parts.join(' '))
    assert.deepEqual(rules, ['401 if 401', '403 if 403', '429 if 429', '503 unless 200'])
    assert.deepEqual(found(/local passed_on = \{ (.+) \}/).match(/\d+(?='\] = true)/g), ['401', '403', '429'])
    assert.equal(found(/passed_on\[status\] and status or '(\d+)'/), '503')
    // What auth_request takes for a failure of its own.
    assert.equal(
      found(/error_page (\d+) =503 \/unavailable;/),
      found(/status !== 200\) return request\.return\((\d+)\)/),
    )
    for (const [, name = '', header = ''] of page.matchAll(/auth_request_set \$(\w+) \$(\w+);/g)) {
      assert.ok(
        page.toLowerCase().includes(`headersout['${header.replace('sent_http_', '').replaceAll('_', '-')}']`),
        header,
      )
      assert.equal(page.split(`$${name}`).length, 3, name)
    }
    assert.ok(page.includes('auto_sni_san_validation: true'))
    assert.equal(found(/uri \S+\/daily(\??)$/m), '?')
    // Conditions are about the service's answer.
    assert.deepEqual(
      [found(/authRequestHeaders: (.+)/), found(/header_up -(\S+)/)],
      ['[Authorization]', 'If-*'],
    )
    const kept_s = authShape.KEEP_ALIVE_TIMEOUT_S.parse(undefined)
    assert.ok(Number(found(/idle_timeout: (\d+)s/)) < kept_s)
    const rows = [...read('infra/runbook/install.md').matchAll(/^\|.*KEEP_ALIVE_TIMEOUT_S=(\d+)/gm)]
    assert.equal(rows.length, 3)
    for (const [row, setting] of rows)
      for (const [, kept = '', unit] of row.matchAll(/(\d[\d,]*) (s|h)\b/g))
        assert.ok(Number(setting) > Number(kept.replace(',', '')) * (unit === 'h' ? 3_600 : 1), row)
  })

  it('name only exit codes that a program here has', () => {
    const codes = new Set(['0', ...[...PRODUCT.matchAll(/\bEXIT_\w+ = (\d+)/g)].map(([, code]) => code)])
    const named = documents.flatMap((file) => [...read(file).matchAll(/\b(?:exits? with|code) (\d+)\b/g)])
    assert.ok(named.length > 10, `${named.length}`)
    for (const { 1: code, input, index } of named)
      assert.ok(codes.has(code), input.slice(index - 60, index + 20))
  })

  it('promise to who reports a vulnerability the same times everywhere', () => {
    const files = [
      '.github/SECURITY.md',
      'apps/api/discovery/docs/pages/security.md',
      'infra/security/questionnaire.md',
    ]
    const [policy, page, answers] = files.map((file) =>
      [...read(file).matchAll(/(?:\| |in |for )(\d+) (?:(?:working )?days|more months)(?: \||[,.])/g)].map(
        ([, days]) => Number(days),
      ),
    )
    assert.deepEqual([policy, page, answers], [[3, 10, 14, 90, 6], policy, [policy?.[0], policy?.[2]]])
  })
})
