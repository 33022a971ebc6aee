import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { closureOf } from '../support/closure.ts'

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

describe('what the images hold', () => {
  for (const [name, args, expected] of [
    ['auth', [], /^The configuration is invalid:\n {2}DATABASE_URL: is required/],
    ['api', [], /^The configuration is invalid:\n {2}DATABASE_URL: is required/],
    ['operator', [], /^No local stack runs on /],
  ] as const)
    it(`holds enough for the command of ${name} to run`, () => {
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

  it('holds no code of the API, nor what only the API uses, in the image of the authorization server', () => {
    const { copies } = imageOf('auth')
    const roots = copies.map(([from]) => from)
    assert.deepEqual(roots, [
      'package.json',
      'shared/process',
      'shared/stores',
      'shared/oauth',
      'shared/usage',
      'shared/revocation',
      'shared/http',
      'apps/auth',
    ])
  })

  it('holds only packages that the authorization server loads, and what these need', async () => {
    const packages = packagesOf('auth')
    const loaded = new Set<string>()
    for (const text of (await closureOf('apps/auth/main.ts')).values())
      for (const [, name = ''] of text.matchAll(/from '((?:@[^/']+\/)?[^#./'][^/']*)'$/gm))
        if (!name.startsWith('node:')) loaded.add(name)
    assert.deepEqual(packages, [...loaded].sort())
    const installed = installedFor(packages)
    assert.equal(installed.size, 101)
    const folder = mkdtempSync(join(tmpdir(), 'integration-access-packages-'))
    try {
      for (const [from] of imageOf('auth').copies)
        cpSync(join(ROOT, from), join(folder, from), { recursive: true })
      for (const path of [...installed].filter((path) => path.lastIndexOf('node_modules/') === 0)) {
        mkdirSync(dirname(join(folder, path)), { recursive: true })
        symlinkSync(join(ROOT, path), join(folder, path))
      }
      const args = ['--preserve-symlinks', '--preserve-symlinks-main', 'apps/auth/main.ts']
      const { stderr } = spawnSync(process.execPath, args, { cwd: folder, env: {}, encoding: 'utf8' })
      assert.match(stderr, /^The configuration is invalid:\n {2}DATABASE_URL: is required/)
    } finally {
      rmSync(folder, { recursive: true })
    }
  })
})

/** The packages that an image installs, without what these need. */
function packagesOf(name: string): string[] {
  const text = readFileSync(join(ROOT, `infra/deploy/Containerfile.${name}`), 'utf8')
  return (/^ARG PACKAGES="(.+)"$/m.exec(text)?.[1] ?? '').split(' ')
}

/** Where npm puts these packages and all that they need, by the lock file; optional ones are left out. */
function installedFor(names: string[]): Set<string> {
  type Locked = Partial<Record<'dependencies' | 'peerDependencies', Record<string, string>>> & {
    peerDependenciesMeta?: Record<string, { optional?: boolean }>
  }
  const { packages } = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, Locked>
  }
  const found = new Set<string>()
  const add = (name: string, from: string): void => {
    const path = `${from}node_modules/${name}`
    const locked = packages[path]
    if (!locked) {
      assert.notEqual(from, '', `${name} is not in the lock file`)
      add(name, from.slice(0, from.lastIndexOf('node_modules/', from.length - 1)))
    }
    if (!locked || found.has(path)) return
    found.add(path)
    const peers = Object.keys(locked.peerDependencies ?? {}).filter(
      (peer) => !locked.peerDependenciesMeta?.[peer]?.optional,
    )
    for (const needed of [...Object.keys(locked.dependencies ?? {}), ...peers]) add(needed, `${path}/`)
  }
  for (const name of names) add(name, '')
  return found
}
