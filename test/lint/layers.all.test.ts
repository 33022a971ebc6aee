import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterwards } from '../support/afterwards.ts'
import { writeFiles } from '../support/files.ts'

const BIOME = createRequire(import.meta.url).resolve('@biomejs/biome/bin/biome')
const CONFIGURATION = join(import.meta.dirname, '../../biome.json')

interface Case {
  file: string
  content: string
}

/** Lints all files at once, under the project's own rules, in a folder that holds nothing else. */
async function lint(cases: Case[]): Promise<Map<string, string[]>> {
  const folder = await mkdtemp(join(tmpdir(), 'integration-access-lint-'))
  await using _ = afterwards(() => rm(folder, { recursive: true, force: true }))
  const rules = JSON.parse(await readFile(CONFIGURATION, 'utf8'))
  const configuration = { ...rules, $schema: undefined, vcs: undefined }
  await writeFiles(folder, { 'biome.json': JSON.stringify(configuration) })
  await writeFiles(folder, Object.fromEntries(cases.map(({ file, content }) => [file, content])))
  const args = ['lint', '--reporter=json', '--max-diagnostics=none', '.']
  const { stdout, stderr } = spawnSync(process.execPath, [BIOME, ...args], {
    cwd: folder,
    encoding: 'utf8',
  })
  assert.match(stdout, /"diagnostics"/, stderr)
  const found = new Map<string, string[]>()
  for (const { category, location } of JSON.parse(stdout).diagnostics) {
    const file = typeof location.path === 'string' ? location.path : location.path.file
    found.set(file, [...(found.get(file) ?? []), category])
  }
  return found
}

describe('the layers', () => {
  const forbidden: [file: string, from: string][] = [
    ['shared/oauth/new.ts', '../../apps/api/compose.ts'],
    ['shared/oauth/new.ts', '../../infra/database/migrate.ts'],
    ['shared/revocation/new.ts', '../../apps/auth/service.ts'],
    ['shared/revocation/new.ts', '../stores/postgres.ts'],
    ['shared/rules/new.ts', '../../apps/workspace/src/main.tsx'],
    ['apps/auth/new.ts', '../api/compose.ts'],
    ['apps/auth/new.ts', '../workspace/src/main.tsx'],
    ['apps/auth/new.ts', '../../infra/database/migrate.ts'],
    ['apps/auth/new.ts', '../../apps/api/accounts/people.ts'],
    ['apps/auth/new.ts', '../../shared/oauth/ids.ts'],
    ['apps/auth/new.ts', '#shared/access-tokens/verify.ts'],
    ['apps/auth/new.ts', '#shared/rules/clients.ts'],
    ['apps/auth/new.ts', '#shared/look/look.css'],
    ['apps/api/new.ts', '../auth/service.ts'],
    ['apps/api/new.ts', '../auth/openapi.json'],
    ['apps/api/new.ts', '../workspace/src/main.tsx'],
    ['apps/api/new.ts', '../../infra/database/migrate.ts'],
    ['apps/api/clients/new.ts', '../../auth/service.ts'],
    ['apps/api/clients/new.ts', '../../auth/openapi.json'],
    ['apps/api/clients/new.ts', '../../../apps/api/accounts/people.ts'],
    ['apps/api/clients/new.ts', '../../../shared/oauth/ids.ts'],
    ['apps/api/clients/new.ts', '../../../test/support/servers.ts'],
    ['apps/api/discovery/docs/new.ts', '../../../auth/service.ts'],
    ['apps/api/discovery/openapi/new.ts', '../../../auth/config.ts'],
    ['apps/workspace/src/new.ts', '#shared/stores/postgres.ts'],
    ['apps/workspace/src/new.ts', '#shared/oauth/ids.ts'],
    ['apps/workspace/src/new.ts', '#shared/access-tokens/verify.ts'],
    ['apps/workspace/src/new.ts', '../../../shared/oauth/scopes.ts'],
    ['apps/workspace/src/new.ts', '../../../infra/database/migrate.ts'],
    ['apps/workspace/src/clients/new.ts', '../../../../apps/api/compose.ts'],
    ['infra/new.ts', '../apps/workspace/src/main.tsx'],
    ['infra/new.ts', '../shared/oauth/ids.ts'],
    ['infra/local/new.ts', '../../apps/auth/service.ts'],
    ['infra/local/new.ts', '../../shared/oauth/ids.ts'],
    ['infra/local/new.ts', '../../test/support/servers.ts'],
    ['infra/admin/keys.ts', '../../apps/auth/config.ts'],
  ]
  const allowed: [file: string, from: string][] = [
    ['shared/oauth/new.ts', './ids.ts'],
    ['shared/revocation/new.ts', '#shared/stores/postgres.ts'],
    ['apps/auth/new.ts', '#shared/oauth/signing-keys.ts'],
    ['apps/auth/new.ts', './service.ts'],
    ['apps/auth/new.ts', 'oidc-provider'],
    ['apps/api/new.ts', './clients/routes.ts'],
    ['apps/api/clients/new.ts', '../http/body.ts'],
    ['apps/api/clients/new.ts', './client.ts'],
    ['apps/api/clients/new.ts', '#shared/oauth/ids.ts'],
    ['apps/api/clients/new.ts', '#shared/access-tokens/bearer.ts'],
    ['apps/api/clients/new.ts', '#shared/rules/clients.ts'],
    ['apps/api/rotation/new.ts', '../clients/client.ts'],
    ['apps/api/discovery/docs/new.ts', '../published.ts'],
    ['apps/api/discovery/docs/new.ts', '../../http/problem.ts'],
    ['apps/api/discovery/openapi/new.ts', '../../../auth/openapi.json'],
    ['apps/workspace/src/clients/new.ts', '../ui/Dialog.tsx'],
    ['apps/workspace/src/clients/new.ts', '#shared/rules/clients.ts'],
    ['apps/workspace/src/clients/new.ts', '#shared/oauth/scopes.ts'],
    ['apps/workspace/src/new.ts', '#shared/look/look.css'],
    ['infra/local/new.ts', '../database/migrate.ts'],
    ['infra/local/new.ts', '../../apps/api/accounts/people.ts'],
    ['infra/admin/new.ts', '../../apps/api/clients/records.ts'],
    ['infra/admin/new.ts', '#shared/oauth/ids.ts'],
    ['infra/admin/config.ts', '../../apps/auth/config.ts'],
    ['test/api/new.test.ts', '../../apps/api/compose.ts'],
  ]
  const environment = [
    'shared/oauth/new.ts',
    'apps/auth/new.ts',
    'apps/api/clients/new.ts',
    'apps/api/main.ts',
  ]

  const RULED_BY_NAME = ['main.ts', 'config.ts']
  /** Each case has a file of its own, in the folder that it is about. */
  const named = (file: string, i: number) =>
    file.replace(/[^/]+$/, (name) => (RULED_BY_NAME.includes(name) ? name : `${i}-${name}`))
  const importing = (from: string) => `import { x } from '${from}'\nx()\n`
  let found: Map<string, string[]>
  before(async () => {
    found = await lint([
      ...[...forbidden, ...allowed].map(([file, from], i) => ({
        file: named(file, i),
        content: importing(from),
      })),
      ...environment.map((file, i) => ({
        file: named(file, 1_000 + i),
        content: 'console.log(process.env.PORT)\n',
      })),
    ])
  })

  for (const [i, [file, from]] of forbidden.entries()) {
    it(`do not let ${file} import ${from}`, () => {
      assert.deepEqual(found.get(named(file, i)), ['lint/style/noRestrictedImports'])
    })
  }

  for (const [i, [file, from]] of allowed.entries()) {
    it(`let ${file} import ${from}`, () => {
      assert.equal(found.get(named(file, forbidden.length + i)), undefined)
    })
  }

  for (const [i, file] of environment.slice(0, -1).entries()) {
    it(`do not let ${file} read the environment`, () => {
      assert.deepEqual(found.get(named(file, 1_000 + i)), ['lint/style/noProcessEnv'])
    })
  }

  it('let main.ts read the environment', () => {
    assert.equal(found.get('apps/api/main.ts'), undefined)
  })

  it('do not let two modules import each other', async () => {
    const cycle = await lint([
      { file: 'shared/a.ts', content: "import { b } from './b.ts'\nexport const a = () => b\n" },
      { file: 'shared/b.ts', content: "import { a } from './a.ts'\nexport const b = () => a\n" },
    ])
    assert.deepEqual([...cycle.values()].flat(), [
      'lint/suspicious/noImportCycles',
      'lint/suspicious/noImportCycles',
    ])
  })
})
