import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import {
  copyFileSync,
  existsSync,
  globSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from 'node:fs'
import { cp, mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { delimiter, dirname, join } from 'node:path'
import { type DebianProgram, debianProgram } from '../../infra/local/debian-program.ts'
import { writeFiles } from '../support/files.ts'
import { sharedFolder } from '../support/folder.ts'
import { run } from '../support/program.ts'
import { ROOT, read } from '../support/project.ts'

const { version, dependencies } = JSON.parse(read('package.json'))
const TOP = `integration-access-service-${version}`
const TARBALL = `${TOP}-${process.platform}-${process.arch}.tar.gz`
const SECRET = 'planted-d1f0a7c3'
const CHANGELOGS = ['CHANGELOG.md', 'apps/api/discovery/docs/pages/changelog.md']
const MINISIGN: DebianProgram = {
  title: 'minisign',
  names: ['minisign'],
  package: 'minisign',
  linksTo: ['libsodium23'],
  versionOption: '-v',
  isUsable: (version) => version.startsWith('minisign '),
  missing: (why) => `minisign was not found, nor could it be fetched (${why}): install minisign.`,
}
const IMAGES = ['auth', 'api', 'operator', 'web']
/** Builds nothing, but archives the image's name. */
const BUILDAH = `#!/bin/sh
echo "$@" >> "$BUILDAH_CALLS"
case $1 in
  inspect) for name; do :; done; [ "$name" != gone ] && echo "sha256:of-$name" ;;
  push) printf 'sha256:%064d' 8 > "\${2#--digestfile=}"; folder=\${4#oci:}; folder=\${folder%%:*}
    mkdir -p "$folder/blobs" && touch "$folder/oci-layout" && echo "$3" > "$folder/index.json" ;;
esac`

describe('npm run release', function () {
  this.timeout(1_200_000)
  const folder = sharedFolder()
  let repository: string
  let commit: string
  let plain: string
  let withImages: string
  let unpacked: string
  const at = (name: string) => join(folder, name)
  /** The oldest npm that can make a release, whatever this machine has, and the Node of the packages. */
  const pathWith = (...folders: string[]) =>
    [...folders, at('tools'), at('npm/node_modules/.bin'), dirname(process.execPath), process.env.PATH].join(
      delimiter,
    )
  const git = async (...args: string[]) => {
    const who = ['-c', 'user.name=a', '-c', 'user.email=a@acme.example']
    const env = {
      PATH: process.env.PATH,
      GIT_CONFIG_GLOBAL: '/dev/null',
      GIT_CONFIG_NOSYSTEM: '1',
      GIT_COMMITTER_DATE: '2025-01-31T23:30:00Z',
    }
    return (await run('git', [...who, ...args], { cwd: repository, env })).stdout.trim()
  }
  const release = async (args: string[], env: Record<string, string> = {}) => {
    const options = { cwd: repository, env: { ...process.env, PATH: pathWith(), ...env } }
    return run('infra/deploy/release.sh', args, options).then(
      ({ stderr }) => ({ code: 0, stderr }),
      ({ code, stderr }) => ({ code, stderr }),
    )
  }
  const key = (name: string) => ['--key', at(`${name}.key`), '--public-key', at(`${name}.pub`)]
  const minisign = (...args: string[]) => run(at('tools/minisign'), args)
  const newKey = async (name: string) => {
    await minisign('-G', '-W', '-s', at(`${name}.key`), '-p', at(`${name}.pub`))
  }

  const programs = async (name: string, texts: Record<string, string>) => {
    await mkdir(at(name), { recursive: true })
    for (const [program, text] of Object.entries(texts))
      await writeFile(join(at(name), program), text, { mode: 0o755 })
    return at(name)
  }

  before(async () => {
    repository = at('repository')
    const { command, env } = await debianProgram(MINISIGN)
    const settings = Object.entries(env).map(([name, value]) => `${name}='${value}' `)
    await programs('tools', { minisign: `#!/bin/sh\n${settings.join('')}exec '${command}' "$@"` })
    await newKey('ours')
    await run('npm', ['install', '--prefix', at('npm'), 'npm@11.6.2'])
    const { stdout } = await run('git', ['ls-files', '-coz', '--exclude-standard'], { cwd: ROOT })
    for (const file of stdout.split('\0').filter((name) => name && existsSync(join(ROOT, name)))) {
      mkdirSync(dirname(join(repository, file)), { recursive: true })
      copyFileSync(join(ROOT, file), join(repository, file))
    }
    for (const file of CHANGELOGS)
      writeFileSync(join(repository, file), read(file).replace(/^## .*$/m, `## ${version}, 2025-01-31`))
    await git('init', '--quiet')
    await git('add', '--all')
    await git('commit', '--quiet', '--message', 'all')
    await git('tag', '--annotate', '--message', 'new', version)
    commit = await git('rev-parse', 'HEAD')
    // What git ignores, in folders that are packed and beside them.
    await writeFiles(repository, { '.data/secrets.json': SECRET, 'apps/api/debug.log': SECRET })
    await programs('bin', { buildah: BUILDAH })
    await mkdir(at('other/temporary'), { recursive: true })
    const bases = ['--base', 'node-base', '--web-base', 'web-base']
    const results = await Promise.all([
      release([...key('ours'), '--no-images', at('plain')]),
      release([...key('ours'), ...bases, at('images')], {
        PATH: pathWith(at('bin')),
        BUILDAH_CALLS: at('calls'),
        TMPDIR: at('other/temporary'),
        NODE_ENV: 'production',
        TZ: 'Asia/Tokyo',
      }),
    ])
    for (const { code, stderr } of results) assert.equal(code, 0, stderr)
    plain = join(at('plain'), version)
    withImages = join(at('images'), version)
    unpacked = at('unpacked')
    await mkdir(unpacked)
    await run('tar', ['--extract', `--file=${join(plain, TARBALL)}`, `--directory=${unpacked}`])
    unpacked = join(unpacked, TOP)
  })

  it('makes the same bytes of a commit elsewhere, in another time zone and with images', async () => {
    const names = (await readdir(plain)).filter((name) => !/^SHA256SUMS/.test(name))
    assert.equal(names.length, 5)
    for (const name of names) assert.equal(sha256(join(plain, name)), sha256(join(withImages, name)), name)
  })

  it('packs no file that git does not have, but packages and the built workspace', async () => {
    const found = await run('grep', ['-rl', SECRET, unpacked]).catch((error) => error)
    assert.equal(found.code, 1, found.stdout)
    const files = globSync('{*,.*,{apps,infra,shared}/**}', { cwd: unpacked, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name).slice(unpacked.length + 1))
    const known = new Set((await git('ls-files')).split('\n'))
    const added = files.filter((file) => !known.has(file))
    assert.ok(added.includes('apps/workspace/dist/index.html'))
    assert.deepEqual(
      added.filter((file) => !file.startsWith('apps/workspace/dist/')),
      [],
    )
  })

  it('packs each file with the owner 0 and no right to write for others, and no link that leads out', async () => {
    const { stdout } = await run('tar', ['-tvzf', join(plain, TARBALL), '--numeric-owner'], {
      maxBuffer: 64 * 1_024 * 1_024,
    })
    const lines = stdout.trimEnd().split('\n')
    assert.ok(lines.length > 1_000)
    for (const line of lines) {
      assert.match(line, /^[-dl]rw[-x]r-[-x]r-[-x] 0\/0 /)
      if (line.startsWith('l')) assert.match(line, /\/node_modules\/\.bin\/[\w-]+ -> \.\.\/(?!.*\.\.)/)
    }
  })

  it('packs every production package, and none for development alone', () => {
    const lock: Record<string, { dev?: boolean }> = JSON.parse(read('package-lock.json')).packages
    const paths = [...installedIn(unpacked).keys()]
    for (const path of paths) assert.equal(lock[path]?.dev, undefined, path)
    for (const name of Object.keys(dependencies)) assert.ok(paths.includes(`node_modules/${name}`), name)
    assert.ok(paths.length < 250)
  })

  it('lists in the SBOM exactly the packages in the tarball, each with a licence', () => {
    const { metadata, components, dependencies } = readBill(plain, `${TOP}.cdx.json`)
    const listed = components.map(({ name, version }) => `${name}@${version}`)
    assert.deepEqual(listed.sort(), [...new Set(installedIn(unpacked).values())].sort())
    for (const { name, licenses = [] } of components) assert.ok(licenses.length > 0, name)
    for (const { ref, dependsOn } of dependencies)
      for (const name of dependsOn) assert.ok(listed.includes(name), `${ref} depends on ${name}`)
    assert.equal(metadata.component.name, 'integration-access-service')
    assert.equal(metadata.timestamp, '2025-01-31T23:30:00Z')
  })

  it('lists in the SBOM of the build every package that the screens hold', () => {
    const listed = readBill(plain, `${TOP}-build.cdx.json`).components
    const refs = listed.map(({ name, version }) => `${name}@${version}`)
    const licences = readFileSync(join(unpacked, 'apps/workspace/dist/licenses.md'), 'utf8')
    const bundled = [...licences.matchAll(/^## (\S+) - (\S+) \(/gm)].map(([, name, at]) => `${name}@${at}`)
    assert.ok(bundled.some((name) => name.startsWith('react-dom@')))
    for (const name of [...bundled, ...installedIn(unpacked).values()]) assert.ok(refs.includes(name), name)
  })

  it('runs from the unpacked tarball, on the Node in it', async () => {
    const node = join(unpacked, 'infra/node')
    const options = { cwd: unpacked, env: {} }
    for (const name of ['auth', 'api'])
      await assert.rejects(
        run(node, [`apps/${name}/main.ts`, '--check'], options),
        /DATABASE_URL: is required/,
      )
    assert.match((await run(node, ['infra/admin/main.ts', '--help'], options)).stdout, /^Usage: /)
    assert.equal((await run(node, ['--version'], options)).stdout.trim(), process.version)
  })

  it('builds the four images on the named bases, never on others', async () => {
    const calls = readFileSync(at('calls'), 'utf8').split('\n')
    for (const name of IMAGES) {
      const image = `integration-${name}:${version}`
      const built = calls.find((call) => call.startsWith('bud ') && call.includes(` --tag=${image} `)) ?? ''
      assert.match(built, / --pull=never /)
      assert.ok(built.endsWith(` --build-arg=NODE=node-base --build-arg=WEB=web-base --target=${name} .`))
      const archive = `integration-${name}-${version}.oci.tar`
      const { stdout } = await run('tar', ['-xOf', join(withImages, archive), 'index.json'])
      assert.equal(stdout, `${image}\n`)
    }
  })

  describe("the runbook's command for a stranger", () => {
    const command = /```sh\n(minisign -Vm .*)\n```/.exec(read('infra/runbook/release.md'))?.[1] ?? ''
    const verify = (cwd: string) => run('sh', ['-c', command], { cwd, env: { PATH: pathWith() } })

    before(() => copyFileSync(at('ours.pub'), join(plain, 'integration.pub')))

    it('accepts the release, and says its version and commit', async () => {
      const { stdout } = await verify(plain)
      const comment = `Trusted comment: integration-access-service ${version}, commit ${commit}\n`
      assert.ok(stdout.includes(`\n${comment}`), stdout)
      assert.match(stdout, new RegExp(`^${TARBALL}: OK$`, 'm'))
      assert.doesNotMatch(stdout, /FAILED/)
    })

    it('finds one flipped bit in the tarball, also with new checksums that another key signed', async () => {
      const forged = at('forged')
      await cp(plain, forged, { recursive: true })
      const bytes = await readFile(join(forged, TARBALL))
      bytes[bytes.length >> 1] = (bytes[bytes.length >> 1] ?? 0) ^ 1
      await writeFile(join(forged, TARBALL), bytes)
      await assert.rejects(verify(forged))
      await writeFile(join(forged, 'SHA256SUMS'), `${sha256(join(forged, TARBALL))}  ${TARBALL}\n`)
      await newKey('theirs')
      await minisign('-S', '-s', at('theirs.key'), '-m', join(forged, 'SHA256SUMS'))
      await assert.rejects(verify(forged))
    })
  })
})

interface Bill {
  metadata: { timestamp: string; component: { name: string } }
  components: { name: string; version: string; licenses?: object[] }[]
  dependencies: { ref: string; dependsOn: string[] }[]
}

const readBill = (place: string, file: string): Bill => JSON.parse(readFileSync(join(place, file), 'utf8'))

const sha256 = (file: string): string => createHash('sha256').update(readFileSync(file)).digest('hex')

/** The packages in a folder, by where they are, from their own manifests. */
function installedIn(place: string): Map<string, string> {
  const manifests = readdirSync(place, { recursive: true, encoding: 'utf8' }).filter((file) =>
    /(?:^|\/)node_modules\/(?:@[^/]+\/)?[^/@]+\/package\.json$/.test(file),
  )
  return new Map(
    manifests.map((file) => {
      const { name, version } = JSON.parse(readFileSync(join(place, file), 'utf8'))
      return [dirname(file), `${name}@${version}`]
    }),
  )
}
