import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { copyFileSync, existsSync, globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { chmod, mkdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { delimiter, dirname, join } from 'node:path'
import { findMinisign, sign } from '../../infra/deploy/release-signature.ts'
import { onPath } from '../../infra/local/child.ts'
import { writeFiles } from '../support/files.ts'
import { sharedFolder } from '../support/folder.ts'
import { run } from '../support/program.ts'

const ROOT = join(import.meta.dirname, '../..')
const read = (file: string): string => readFileSync(join(ROOT, file), 'utf8')
const { version, dependencies, devDependencies } = JSON.parse(read('package.json'))
const TOP = `integration-access-service-${version}`
const TARBALL = `${TOP}-${process.platform}-${process.arch}.tar.gz`
const SECRET = 'planted-d1f0a7c3'
const CHANGELOGS = ['CHANGELOG.md', 'apps/api/discovery/docs/pages/changelog.md']
const IMAGES = ['auth', 'api', 'operator', 'web']

/** Builds nothing, but archives the image's name, and says that npm installed what is in $IMAGE_LOCK. */
const BUILDAH = `#!/bin/sh
echo "$@" >> "$BUILDAH_CALLS"
case $1 in
  inspect) [ "$6" = gone ] && exit 1; printf 'sha256:%064d\\n' 7 ;;
  push) printf 'sha256:%064d' 8 > "\${2#--digestfile=}"; file=\${4#oci-archive:}; echo "$3" > "\${file%%:*}" ;;
  from) echo "container-of-$3" ;;
  run) cat "$IMAGE_LOCK" ;;
esac`

describe('npm run release', function () {
  this.timeout(1_200_000)
  const folder = sharedFolder()
  let repository: string
  let commit: string
  let plain: string
  let withImages: string
  let unpacked: string
  let minisign: { path: string; env: Record<string, string> }

  let day = '2024-12-24'

  const at = (name: string) => join(folder, name)
  /** The oldest npm that can make a release, whatever this machine has, and the Node of the packages. */
  const pathWith = (...folders: string[]) =>
    [...folders, at('npm/node_modules/.bin'), dirname(process.execPath), process.env.PATH].join(delimiter)
  const git = async (...args: string[]) => {
    const who = ['-c', 'user.name=a', '-c', 'user.email=a@acme.example']
    const env = {
      PATH: process.env.PATH,
      GIT_CONFIG_GLOBAL: '/dev/null',
      GIT_CONFIG_NOSYSTEM: '1',
      GIT_COMMITTER_DATE: `${day}T23:30:00Z`,
    }
    return (await run('git', [...who, ...args], { cwd: repository, env })).stdout.trim()
  }
  /** Runs the command of the scratch repository. Returns its exit code and standard error. */
  const release = async (args: string[], env: Record<string, string> = {}) => {
    const PATH = pathWith()
    const command = join(repository, 'infra/deploy/release-command.ts')
    const options = { cwd: repository, env: { ...process.env, PATH, ...env } }
    return run(process.execPath, [command, ...args], options).then(
      ({ stderr }) => ({ code: 0, stderr }),
      ({ code, stderr }) => ({ code, stderr }),
    )
  }
  const key = (name: string) => ['--key', at(`${name}.key`), '--public-key', at(`${name}.pub`)]
  const newKey = async (name: string) => {
    const files = ['-s', at(`${name}.key`), '-p', at(`${name}.pub`)]
    await run('minisign', ['-G', '-W', ...files], { env: minisign.env })
  }

  before(async () => {
    repository = at('repository')
    const found = await findMinisign()
    const path = [dirname(found.command), process.env.PATH].join(delimiter)
    minisign = { path: found.command, env: { ...found.env, PATH: path } }
    await newKey('ours')
    await run('npm', ['install', '--prefix', at('npm'), 'npm@11.6.2'])
    const { stdout } = await run('git', ['ls-files', '-coz', '--exclude-standard'], { cwd: ROOT })
    for (const file of stdout.split('\0').filter((name) => name && existsSync(join(ROOT, name)))) {
      mkdirSync(dirname(join(repository, file)), { recursive: true })
      copyFileSync(join(ROOT, file), join(repository, file))
    }
    for (const file of CHANGELOGS)
      writeFileSync(
        join(repository, file),
        read(file).replace(
          /^## .*$/m,
          `## ${version}, not yet released\n\n- New.\n\n## 0.0.9, not yet released\n\n## 0.0.8, 2024-11-11`,
        ),
      )
    await git('init', '--quiet')
    await git('add', '--all')
    await git('commit', '--quiet', '--message', 'all')
    await git('tag', '0.0.9')
    day = '2025-01-31'
    await git('commit', '--quiet', '--allow-empty', '--message', 'new')
    await git('tag', '--annotate', '--message', 'new', version)
    commit = await git('rev-parse', 'HEAD')
    // What git ignores, in folders that are packed and beside them.
    await writeFiles(repository, { '.data/secrets.json': SECRET, 'apps/api/debug.log': SECRET })
    const lock = JSON.parse(read('package-lock.json')).packages
    const installed = ['node_modules/pino', 'node_modules/koa'].map((name) => [name, lock[name]])
    await writeFiles(folder, {
      'lock.json': JSON.stringify({ packages: Object.fromEntries(installed) }),
    })
    await mkdir(at('bin'))
    await writeFile(at('bin/buildah'), BUILDAH, { mode: 0o755 })
    await mkdir(at('other/temporary'), { recursive: true })
    const bases = ['--base', 'node-base', '--web-base', 'web-base']
    const results = await Promise.all([
      release([...key('ours'), '--no-images', at('plain')]),
      release([...key('ours'), ...bases, at('images')], {
        PATH: pathWith(at('bin')),
        BUILDAH_CALLS: at('calls'),
        IMAGE_LOCK: at('lock.json'),
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

  describe('refuses, in one sentence,', () => {
    afterEach(async () => {
      await git('reset', '--quiet', '--hard', commit)
      await git('clean', '--quiet', '--force', '-d')
      await git('tag', '--force', version)
    })
    const commitAll = (file: string, text: string) => {
      writeFileSync(join(repository, file), text)
      return git('commit', '--quiet', '--all', '--message', 'more').then(() => git('tag', '-f', version))
    }
    /** Makes a folder with an npm that only knows its version. */
    const npmOf = async (version: string) => {
      await writeFiles(at(`npm-${version}`), { npm: `#!/bin/sh\necho ${version}\n` })
      await chmod(at(`npm-${version}/npm`), 0o755)
      return at(`npm-${version}`)
    }
    const dated = (file: string) =>
      commitAll(
        file,
        readFileSync(join(repository, file), 'utf8').replace(', not yet released', ', 2025-01-01'),
      )

    for (const [what, change, expected] of [
      [
        'a changed file',
        () => writeFileSync(join(repository, 'README.md'), 'x'),
        /^The working tree has changes/,
      ],
      ['a new file', () => writeFileSync(join(repository, 'new.ts'), ''), /^The working tree has changes/],
      ['a commit without a tag', () => git('tag', '--delete', version), /has no tag [\d.]+, its version/],
      [
        "the tag of another version than package.json's",
        () => git('tag', '--delete', version).then(() => git('tag', '9.9.9')),
        /has no tag [\d.]+, its version/,
      ],
      ['a changelog with another day', () => dated(CHANGELOGS[0] ?? ''), /^CHANGELOG\.md begins with/],
      ["an integrators' changelog with one", () => dated(CHANGELOGS[1] ?? ''), /^apps\/.*begins with/],
      [
        'a changelog that begins with another version',
        () => commitAll('CHANGELOG.md', '# Changes\n\n## 9.9.9, not yet released\n'),
        /^CHANGELOG\.md begins with "## 9\.9\.9, not yet released"/,
      ],
    ] as [string, () => unknown, RegExp][])
      it(`${what}`, async () => {
        await change()
        const { code, stderr } = await release([...key('ours'), '--no-images', at('refused')])
        assert.equal(code, 1)
        assert.match(stderr, expected)
        assert.match(stderr, /^[^\n]+\n$/)
        assert.ok(!existsSync(at('refused')))
      })

    for (const [what, args, expected] of [
      ['neither images to build on nor --no-images', [], /^Usage: /],
      ['only one image to build on', ['--base', 'x'], /^Usage: /],
      [
        'a base that is not on this machine',
        ['--base', 'gone', '--web-base', 'x'],
        /^There is no image gone .*: run "buildah pull gone", or .* --no-images\.$/m,
      ],
      ['a folder that already has this version', ['--no-images', 'PLAIN'], /is there already: remove it/],
    ] as [string, string[], RegExp][])
      it(`${what}`, async () => {
        const given = args.map((arg) => (arg === 'PLAIN' ? at('plain') : arg))
        const env = { PATH: pathWith(at('bin')), BUILDAH_CALLS: '/dev/null' }
        const { code, stderr } = await release([...key('ours'), ...given], env)
        assert.equal(code, 1)
        assert.match(stderr, expected)
        assert.match(stderr, /^[^\n]+\n$/)
      })

    for (const [npm, expected] of [
      [
        '10.8.2',
        /^A release needs npm 11\.6\.2 or newer, and this is 10\.8\.2: npm install --global npm@11\.6\.2\n$/,
      ],
      ['11.6.1', /^A release needs npm 11\.6\.2 or newer, and this is 11\.6\.1: /],
      // Goes on, to what the next test is about.
      ['11.10.0', /^The working tree has changes/],
    ] as const)
      it(`an npm that is too old, such as ${npm} if it is, before anything else`, async () => {
        writeFileSync(join(repository, 'README.md'), 'x')
        const PATH = [await npmOf(npm), process.env.PATH].join(delimiter)
        const { code, stderr } = await release([...key('ours'), '--no-images', at('refused')], { PATH })
        assert.equal(code, 1)
        assert.match(stderr, expected)
      })

    it('images without buildah, and says how to get it or go on without', async () => {
      const onlyGit = await npmOf('11.6.2')
      await symlink((await onPath('git')) as string, join(onlyGit, 'git'))
      const args = [...key('ours'), '--base', 'x', '--web-base', 'x']
      const { stderr } = await release(args, { PATH: onlyGit })
      assert.match(stderr, /^The images need buildah: install it .*--no-images\.\n$/)
    })

    it('a key that is not there', async () => {
      const { stderr } = await release([...key('nobody'), '--no-images', at('refused')])
      assert.match(stderr, /^There is no key .*: make a pair with "minisign -G -s [^\n]*\n$/)
    })

    it('the public key of another pair, of which strangers would verify nothing', async () => {
      await newKey('other')
      await writeFile(at('sums'), 'x')
      const keys = { key: at('ours.key'), publicKey: at('other.pub') }
      await assert.rejects(
        sign(await findMinisign(), at('sums'), keys, 'x'),
        /^Error: .*other\.pub is not the public key of .*ours\.key, so the release was not written\.$/,
      )
    })
  })

  it('packs the same commit into the same bytes, elsewhere, in another time zone and with images', async () => {
    const [first, second] = await Promise.all(
      [plain, withImages].map(async (place) => sha256(join(place, TARBALL))),
    )
    assert.equal(first, second)
  })

  it('lists the same packages of it in the same bytes, with the time of the commit', () => {
    const [first, second] = [plain, withImages].map((place) => sha256(join(place, `${TARBALL}.cdx.json`)))
    assert.equal(first, second)
    assert.equal(billOf(plain, TARBALL).metadata.timestamp, '2025-01-31T23:30:00.000Z')
  })

  it('numbers each list of packages apart', () => {
    const files = globSync('*.cdx.json', { cwd: withImages })
    assert.equal(files.length, 1 + IMAGES.length)
    const numbers = files.map((file) => billOf(withImages, file.replace('.cdx.json', '')).serialNumber)
    assert.equal(new Set(numbers).size, files.length)
    for (const number of numbers)
      assert.match(number, /^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}$/)
  })

  it('dates each version in both changelogs by the commit of its tag', () => {
    for (const file of CHANGELOGS) {
      const headings = readFileSync(join(unpacked, file), 'utf8')
        .match(/^## .*$/gm)
        ?.slice(0, 3)
      assert.deepEqual(headings, [
        `## ${version}, 2025-01-31`,
        '## 0.0.9, 2024-12-24',
        '## 0.0.8, 2024-11-11',
      ])
    }
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

  it('lists in the SBOM exactly the packages in the tarball and in its screens, each with a licence', () => {
    const bill = billOf(plain, TARBALL)
    const installed = new Set(installedIn(unpacked).values())
    const components = bill.components.map(({ name, version }) => `${name}@${version}`)
    for (const name of installed) assert.ok(components.includes(name), name)
    const bundled = bill.components.filter(({ name, version }) => !installed.has(`${name}@${version}`))
    assert.deepEqual(
      bundled
        .map(({ name }) => name)
        .filter((name) => name in devDependencies)
        .sort(),
      importedByScreens(),
    )
    for (const { name, licenses = [] } of bill.components) assert.ok(licenses.length > 0, name)
    for (const { ref, dependsOn } of bill.dependencies)
      for (const name of dependsOn) assert.ok(components.includes(name), `${ref} depends on ${name}`)
    assert.equal(bill.bomFormat, 'CycloneDX')
    assert.equal(bill.metadata.component.name, TARBALL)
    assert.equal(bill.metadata.component.hashes[0]?.content, sha256(join(plain, TARBALL)))
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

  it('builds the four images on the given bases, never on others, and lists what each holds', () => {
    const calls = readFileSync(at('calls'), 'utf8').split('\n')
    for (const name of IMAGES) {
      const image = `integration-${name}:${version}`
      const built = calls.find((call) => call.startsWith('bud ') && call.endsWith(` ${image} .`)) ?? ''
      assert.match(built, / --pull=never /)
      assert.ok(built.includes(` --build-arg=NODE=node-base --build-arg=WEB=web-base --target=${name} `))
      const archive = `integration-${name}-${version}.oci.tar`
      assert.equal(readFileSync(join(withImages, archive), 'utf8'), `${image}\n`)
      const names = billOf(withImages, archive).components.map((component) => component.name)
      if (name === 'web') assert.ok(names.includes('react-dom') && !names.includes('pino'))
      else assert.deepEqual(names, ['koa', 'pino'])
    }
    assert.equal(calls.filter((call) => call.startsWith('rm container-of-')).length, 3)
  })

  it('states in the provenance the commit, the bases and every file, or that the images are left out', () => {
    for (const [place, images, bases] of [
      [plain, 'left out', []],
      [withImages, { base: 'node-base', webBase: 'web-base' }, ['node-base', 'web-base']],
    ] as const) {
      const statement = JSON.parse(readFileSync(join(place, 'provenance.json'), 'utf8'))
      assert.equal(statement._type, 'https://in-toto.io/Statement/v1')
      assert.equal(statement.predicateType, 'https://slsa.dev/provenance/v1')
      const { buildDefinition, runDetails } = statement.predicate
      assert.deepEqual(buildDefinition.externalParameters, { tag: version, images })
      const [source, lock, ...others] = buildDefinition.resolvedDependencies
      assert.deepEqual(source, { name: 'source', digest: { gitCommit: commit } })
      assert.equal(lock.digest.sha256, sha256(join(ROOT, 'package-lock.json')))
      assert.deepEqual(
        others,
        bases.map((name) => ({ name, digest: { sha256: '7'.padStart(64, '0') } })),
      )
      assert.equal(runDetails.builder.integration_slsaBuildLevel, 1)
      const names = globSync('*', { cwd: place }).filter((name) => !/^SHA256SUMS|^provenance/.test(name))
      const manifests = images === 'left out' ? [] : IMAGES.map((name) => `integration-${name}`)
      assert.deepEqual(statement.subject, [
        ...manifests.map((name) => ({ name, digest: { sha256: '8'.padStart(64, '0') } })),
        ...names.sort().map((name) => ({ name, digest: { sha256: sha256(join(place, name)) } })),
      ])
    }
  })

  it("takes the top of the operators' changelog and the public key as the release's text", () => {
    const notes = readFileSync(join(plain, 'release-notes.md'), 'utf8')
    const key = readFileSync(at('ours.pub'), 'utf8').split('\n')[1]
    assert.equal(
      notes,
      `## ${version}, 2025-01-31\n\n- New.\n\nThe public key of the signature:\n\n    ${key}\n`,
    )
  })

  it('gives an overlay of Kustomize the digests of the images', () => {
    const lines = readFileSync(join(withImages, 'images.yaml'), 'utf8').trimEnd().split('\n')
    assert.deepEqual(lines, [
      'images:',
      ...IMAGES.map(
        (name) =>
          `  - { name: integration-${name}, newName: registry.example.com/integration-${name}, digest: 'sha256:${'8'.padStart(64, '0')}' }`,
      ),
    ])
  })

  describe("the runbook's command for a stranger", () => {
    const command = /```sh\n(minisign -Vm .*)\n```/.exec(read('infra/runbook/release.md'))?.[1] ?? ''
    const verify = () => run('sh', ['-c', command], { cwd: plain, env: minisign.env })
    const edit = (name: string, change: (bytes: Buffer) => Buffer) =>
      writeFileSync(join(plain, name), change(readFileSync(join(plain, name))))
    const flip = (bytes: Buffer) => {
      bytes[bytes.length >> 1] = (bytes[bytes.length >> 1] ?? 0) ^ 1
      return bytes
    }
    let signed: [file: string, bytes: Buffer][]

    before(async () => {
      copyFileSync(at('ours.pub'), join(plain, 'integration.pub'))
      signed = await Promise.all(
        [TARBALL, 'SHA256SUMS', 'SHA256SUMS.minisig'].map(async (name) => {
          const file = join(plain, name)
          return [file, await readFile(file)] as [string, Buffer]
        }),
      )
    })
    afterEach(() => {
      for (const [file, bytes] of signed) writeFileSync(file, bytes)
    })

    it('accepts the release, and says its version and commit', async () => {
      const { stdout } = await verify()
      assert.match(
        stdout,
        new RegExp(`^Trusted comment: integration-access-service ${version}, commit ${commit}$`, 'm'),
      )
      assert.match(stdout, new RegExp(`^${TARBALL}: OK$`, 'm'))
      assert.doesNotMatch(stdout, /FAILED/)
    })

    for (const [what, change] of [
      ['one flipped bit in the tarball', () => edit(TARBALL, flip)],
      ['one flipped bit in the checksums', () => edit('SHA256SUMS', flip)],
      [
        'another version in the signed comment',
        () =>
          edit('SHA256SUMS.minisig', (bytes) =>
            Buffer.from(bytes.toString().replace(`service ${version}`, 'service 9')),
          ),
      ],
      [
        'a changed tarball whose new checksums another key signed',
        async () => {
          await newKey('theirs')
          edit(TARBALL, flip)
          const [[, before] = []] = signed
          edit('SHA256SUMS', (bytes) =>
            Buffer.from(
              bytes.toString().replace(
                createHash('sha256')
                  .update(before ?? '')
                  .digest('hex'),
                sha256(join(plain, TARBALL)),
              ),
            ),
          )
          await run(minisign.path, ['-S', '-s', at('theirs.key'), '-m', join(plain, 'SHA256SUMS')], {
            env: minisign.env,
          })
        },
      ],
    ] as [string, () => unknown][])
      it(`finds ${what}`, async () => {
        await change()
        await assert.rejects(verify())
      })
  })
})

interface Bill {
  bomFormat: string
  serialNumber: string
  metadata: { timestamp: string; component: { name: string; hashes: { content: string }[] } }
  components: { name: string; version: string; licenses?: object[] }[]
  dependencies: { ref: string; dependsOn: string[] }[]
}

const billOf = (place: string, file: string): Bill =>
  JSON.parse(readFileSync(join(place, `${file}.cdx.json`), 'utf8'))

const sha256 = (file: string): string => createHash('sha256').update(readFileSync(file)).digest('hex')

/** The packages in a folder, by where they are, from their own manifests. */
function installedIn(place: string): Map<string, string> {
  const manifests = globSync(`{,**/}node_modules/{*,@*/*}/package.json`, { cwd: place })
  return new Map(
    manifests.map((file) => {
      const { name, version } = JSON.parse(readFileSync(join(place, file), 'utf8'))
      return [dirname(file), `${name}@${version}`]
    }),
  )
}

/** The development packages whose code the screens import, from their sources. */
function importedByScreens(): string[] {
  const names = new Set<string>()
  for (const file of globSync('apps/workspace/src/**/*.{ts,tsx}', { cwd: ROOT }))
    for (const [, name = ''] of read(file).matchAll(
      /^(?:import|export) (?!type )(?:[^']+ from )?'((?:@[^/']+\/)?[^#./'][^/']*)/gm,
    ))
      names.add(name)
  // It only passes on the packages @radix-ui/…, which are in the bundle without it.
  names.delete('radix-ui')
  return [...names].filter((name) => name in devDependencies).sort()
}
