import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

const ROOT = join(import.meta.dirname, '../..')

/** What the last stage of a Containerfile copies from the project, and its command. */
function imageOf(name: string): { copies: [from: string, to: string][]; command: string[] } {
  const text = readFileSync(join(ROOT, `infra/deploy/Containerfile.${name}`), 'utf8')
  const stage = text.slice(text.lastIndexOf('FROM '))
  const copies = [...stage.matchAll(/^COPY (?!--from)(\S+) (\S+)$/gm)].map(
    ([, from = '', to = '']) => [from, to === './' ? from : to] as [string, string],
  )
  return { copies, command: JSON.parse(/^CMD (.+)$/m.exec(stage)?.[1] ?? '[]') }
}

describe('what the images hold', function () {
  this.timeout(30_000)
  for (const [name, args, expected] of [
    ['auth', [], /^The configuration is invalid:\n {2}DATABASE_URL: is required/],
    ['api', [], /^The configuration is invalid:\n {2}DATABASE_URL: is required/],
    ['operator', [], /^No local stack runs on /],
  ] as const)
    it(`is enough for the command of ${name} to run`, () => {
      const { copies, command } = imageOf(name)
      const folder = mkdtempSync(join(tmpdir(), 'integration-access-image-'))
      try {
        for (const [from, to] of copies) {
          mkdirSync(dirname(join(folder, to)), { recursive: true })
          cpSync(join(ROOT, from), join(folder, to), { recursive: true })
        }
        symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
        const [, ...rest] = command
        const { stderr } = spawnSync(process.execPath, [...rest, ...args], {
          cwd: folder,
          env: {},
          encoding: 'utf8',
        })
        assert.match(stderr, expected)
      } finally {
        rmSync(folder, { recursive: true })
      }
    })

  it('is no code of the API, nor what only the API uses, in the image of the authorization server', () => {
    const { copies } = imageOf('auth')
    const roots = copies.map(([from]) => from)
    assert.deepEqual(roots, [
      'package.json',
      'shared/process',
      'shared/stores',
      'shared/oauth',
      'shared/revocation',
      'shared/client-usage.ts',
      'shared/entity-tag.ts',
      'apps/auth',
    ])
  })
})
