import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { cpSync, mkdtempDisposableSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { importClosure } from '../support/imports.ts'
import { ROOT, read } from '../support/project.ts'

const STAGES = new Map(
  read('infra/deploy/Containerfile')
    .split(/^FROM /m)
    .map((text) => [/ AS (\S+)/.exec(text)?.[1] ?? '', text]),
)

/** What an image and its base copy from the project, and its command. */
function parseImage(name: string): { copies: [from: string, to: string][]; command: string[] } {
  const stage = `${STAGES.get('base')}${STAGES.get(name)}`
  const copies = [...stage.matchAll(/^COPY (?!--from)(\S+) (\S+)$/gm)].map(
    ([, from = '', to = '']) => [from, to === './' ? from : to] as [string, string],
  )
  return { copies, command: JSON.parse(/^CMD (.+)$/m.exec(stage)?.[1] ?? '[]') }
}

describe('what the images hold', () => {
  for (const [name, packages, expected] of [
    ['auth', 'auth-packages', /^The configuration is invalid:\n {2}DATABASE_URL: is required/],
    ['api', 'packages', /^The configuration is invalid:\n {2}DATABASE_URL: is required/],
    ['operator', 'packages', /^No local stack runs on /],
  ] as const)
    it(`holds enough for the command of ${name} to run`, () => {
      const { copies, command } = parseImage(name)
      assert.ok(STAGES.get(name)?.includes(`\nCOPY --from=${packages} /app/node_modules node_modules\n`))
      using folder = mkdtempDisposableSync(join(tmpdir(), 'integration-access-image-'))
      for (const [from, to] of copies) cpSync(join(ROOT, from), join(folder.path, to), { recursive: true })
      symlinkSync(join(ROOT, 'node_modules'), join(folder.path, 'node_modules'))
      const options = { cwd: folder.path, env: {}, encoding: 'utf8' } as const
      assert.match(spawnSync(process.execPath, command.slice(1), options).stderr, expected)
    })

  it('holds no code of the API, nor what only the API uses, in the image of the authorization server', () => {
    const roots = parseImage('auth').copies.map(([from]) => from)
    const shared = ['process', 'stores', 'oauth', 'usage', 'revocation', 'http'].map((it) => `shared/${it}`)
    assert.deepEqual(roots, ['package.json', ...shared, 'apps/auth'])
  })

  it('installs only packages that the authorization server loads', async () => {
    const loaded = new Set<string>()
    for (const text of (await importClosure('apps/auth/main.ts')).values())
      for (const [, name = ''] of text.matchAll(/from '((?:@[^/']+\/)?[^#./'][^/']*)'$/gm))
        if (!name.startsWith('node:')) loaded.add(name)
    const [, packages = ''] = /^ARG PACKAGES="(.+)"$/m.exec(STAGES.get('auth-packages') ?? '') ?? []
    assert.deepEqual(packages.split(' '), [...loaded].sort())
  })
})
