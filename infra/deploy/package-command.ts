import { execFile } from 'node:child_process'
import { copyFile, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)
const ROOT = join(import.meta.dirname, '../..')
const SOURCE = join(ROOT, 'shared/access-tokens')

/*
 * Writes shared/access-tokens to the given folder (default `release`) as a package that services in other repositories
 * can install, and prints its path.
 */
const folder = resolve(process.argv[2] ?? join(ROOT, 'release'))
const { version, license, dependencies } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8'))
const manifest = {
  name: 'integration-access-tokens',
  version,
  description:
    'Verifies the access tokens of the Integration Access Service, and learns of revocations within 3 seconds',
  license,
  type: 'module',
  engines: { node: '>=20.12' },
  exports: {
    '.': './access-tokens.js',
    './revocation-feed': './revocation-feed.js',
    './signing-keys': './signing-keys.js',
  },
  dependencies: { jose: `^${dependencies.jose}` },
}
const stage = await mkdtemp(join(tmpdir(), 'integration-access-package-'))
try {
  await run(join(ROOT, 'node_modules/.bin/tsc'), ['--project', SOURCE, '--outDir', stage])
  await writeFile(join(stage, 'package.json'), JSON.stringify(manifest, null, 2))
  await copyFile(join(SOURCE, 'README.md'), join(stage, 'README.md'))
  await mkdir(folder, { recursive: true })
  const { stdout } = await run('npm', ['pack', '--json', '--pack-destination', folder], { cwd: stage })
  process.stdout.write(`${join(folder, JSON.parse(stdout)[0].filename)}\n`)
} finally {
  await rm(stage, { recursive: true })
}
