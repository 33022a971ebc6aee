import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, existsSync, readFileSync, statSync } from 'node:fs'
import { chmod, mkdir, readdir } from 'node:fs/promises'
import { delimiter, dirname, join } from 'node:path'
import { EXIT_USAGE } from '../../infra/exit-codes.ts'
import { onPath } from '../../infra/local/child.ts'
import { collectText } from '../support/collect-text.ts'
import { eventually } from '../support/eventually.ts'
import { writeFiles } from '../support/files.ts'
import { sharedFolder } from '../support/folder.ts'
import { run } from '../support/program.ts'
import { find, ROOT, read } from '../support/project.ts'

const SCRIPT = 'infra/deploy/release.sh'
const README = read('README.md')
const linksIn = (page: string) => [...page.matchAll(/\]\(([^):#{}]+)/g)].map(([, file = '']) => file)
const LINKED = linksIn(README)
const PAGES = find('{.github,apps,infra,shared}/**/*.md')
const VERSION = '9.9.9'
const DATED = `# Changes\n\n## ${VERSION}, 2025-01-31\n\n- [Mail](infra/mail.md), [more](https://a.test).\n\n## 9.9.8`
const FOR_INTEGRATORS = 'apps/api/discovery/docs/pages/changelog.md'
const PUBLIC_KEY = `RW${'Q'.repeat(54)}`
const BASES = ['--base', 'node-base', '--web-base', 'web-base']
/** Stand-ins for the tools. Signing writes the comment, and `npm ci` waits if WAIT names a file. */
const TOOLS = {
  npm: `case $1 in
  --version) echo 11.6.2 ;;
  pack) echo package.tgz ;;
  ci) mkdir -p node_modules; [ -z "$WAIT" ] || { echo $$ > "$WAIT"; exec sleep 300; } ;;
  sbom) echo '{}' ;;
esac`,
  minisign: `[ "$1" != -S ] || echo "$7" > SHA256SUMS.minisig`,
  buildah: `case $1 in
  inspect) for name; do :; done; echo "sha256:of-$name"
    [ -z "$MOVE" ] || git -c user.name=a -c user.email=a@acme.example commit --quiet --allow-empty -m late ;;
  push) printf 'sha256:%064d' 8 > "\${2#--digestfile=}"; folder=\${4#oci:}; folder=\${folder%%:*}
    mkdir -p "$folder/blobs" && touch "$folder/oci-layout" "$folder/index.json" ;;
esac`,
}

describe('the script of a release', () => {
  const folder = sharedFolder()
  const repository = join(folder, 'repository')
  const bin = join(folder, 'bin')
  const target = join(folder, 'releases')
  const keys = ['--key', join(folder, 'key'), '--public-key', join(folder, 'pub')]
  let commit: string

  const git = async (...args: string[]) => {
    const who = ['-c', 'user.name=a', '-c', 'user.email=a@acme.example']
    const env = { PATH: process.env.PATH, GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_NOSYSTEM: '1' }
    return (await run('git', [...who, ...args], { cwd: repository, env })).stdout.trim()
  }
  const options = (settings: Record<string, string> = {}) => {
    const PATH = [bin, dirname(process.execPath), process.env.PATH].join(delimiter)
    return { cwd: repository, env: { ...process.env, PATH, WAIT: '', MOVE: '', ...settings } }
  }
  const release = (args: string[], settings?: Record<string, string>) =>
    run(join(repository, SCRIPT), [...keys, ...args], options(settings)).then(
      ({ stderr }) => ({ code: 0, stderr }),
      ({ code, stderr }) => ({ code, stderr }),
    )
  const refuses = async (args: string[], expected: RegExp, settings?: Record<string, string>) => {
    const { code, stderr } = await release(args, settings)
    assert.match(stderr, expected)
    assert.equal(code, stderr.startsWith('Usage: ') ? EXIT_USAGE : 1)
  }
  /** Writes scripts to a folder. Returns a PATH on which they come first. */
  const withTools = async (name: string, tools: Record<string, string>) => {
    for (const [tool, text] of Object.entries(tools)) {
      await writeFiles(join(folder, name), { [tool]: `#!/bin/sh\n${text}\n` })
      await chmod(join(folder, name, tool), 0o755)
    }
    return [join(folder, name), options().env.PATH].join(delimiter)
  }

  before(async () => {
    assert.ok(
      LINKED.every((file) => /\.\w+$/.test(file)),
      'The README links to a folder: link to its page.',
    )
    await withTools('bin', TOOLS)
    await writeFiles(folder, { key: 'a secret key', pub: `b\n${PUBLIC_KEY}\n` })
    await writeFiles(repository, {
      ...Object.fromEntries([
        ...LINKED.map((file) => [file, '']),
        ...PAGES.map((file) => [file, read(file)]),
      ]),
      'package.json': JSON.stringify({ version: VERSION, dependencies: { jose: '6.0.0' } }),
      'package-lock.json': '{}',
      'README.md': README,
      'CHANGELOG.md': DATED,
      [FOR_INTEGRATORS]: DATED,
      'infra/deploy/access-tokens.json': '{}',
      'infra/node': '#!/bin/sh\n',
    })
    await chmod(join(repository, 'infra/node'), 0o755)
    for (const script of [SCRIPT, 'infra/deploy/package.sh'])
      copyFileSync(join(ROOT, script), join(repository, script))
    await git('init', '--quiet')
    await git('add', '--all')
    await git('commit', '--quiet', '--message', 'all')
    commit = await git('rev-parse', 'HEAD')
    for (const tag of [VERSION, '9.9.90', '9x9.9']) await git('tag', tag)
  })

  afterEach(async () => {
    await git('reset', '--quiet', '--hard', commit)
    await git('tag', '--force', VERSION)
  })

  const edit = (file: string, text: string) => writeFiles(repository, { [file]: text })
  const commitEdit = async (file: string, text: string) => {
    await edit(file, text)
    await git('commit', '--quiet', '--all', '--message', 'more')
    await git('tag', '--force', VERSION)
  }
  for (const [what, change, expected] of [
    ['a dirty tree', () => edit('README.md', 'x'), /^The working tree has changes [^\n]+\n$/],
    ['a commit without the tag', () => git('tag', '--delete', VERSION), /^The commit has no tag 9\.9\.9,/],
    [
      'a commit before that of the tag',
      async () => {
        await commitEdit('README.md', 'x')
        await git('reset', '--quiet', '--hard', commit)
      },
      /^The commit has no tag 9\.9\.9,/,
    ],
    [
      'a changelog without a day',
      () => commitEdit('CHANGELOG.md', `## ${VERSION}, not yet released\n`),
      /^CHANGELOG\.md begins with "## 9\.9\.9, not yet released", not with "## 9\.9\.9, " and the day/,
    ],
    [
      "an integrators' changelog of another version",
      () => commitEdit(FOR_INTEGRATORS, '## 9.9.8, 2025-01-31\n'),
      /^apps\/.*changelog\.md begins with "## 9\.9\.8, 2025-01-31"/,
    ],
  ] as [string, () => unknown, RegExp][])
    it(`refuses ${what}`, async () => {
      await change()
      await refuses(['--no-images', target], expected)
      assert.ok(!existsSync(target))
    })

  for (const [what, args] of [
    ['images to build on with --no-images', [...BASES, '--no-images']],
    ['one image to build on with --no-images', ['--no-images', '--web-base', 'web-base']],
    ['two folders', ['--no-images', target, `${target}-2`]],
    ['an option without its value', ['--no-images', '--base']],
    ['only one image to build on', ['--base', 'node-base']],
  ] as [string, string[]][])
    it(`refuses ${what}, with the usage`, () => refuses(args, /^Usage: /))

  it('refuses an option of the package, with its usage', () =>
    assert.rejects(run(join(ROOT, 'infra/deploy/package.sh'), ['--help']), { code: EXIT_USAGE }))

  for (const [option, file, expected] of [
    ['--key', 'none', /^There is no key \S+none: make a pair with "minisign -G -s \S+none -p \S+pub"\.$/m],
    ['--public-key', 'none', /^There is no key \S+none: .+ "minisign -R -s \S+key -p \S+none"\.$/m],
    ['--public-key', 'key', /^\S+key is not a public key of minisign\.$/m],
  ] as [string, string, RegExp][])
    it(`refuses ${file} for ${option} before it builds anything`, () =>
      refuses(['--no-images', option, join(folder, file)], expected))

  for (const [what, tools, expected] of [
    ['npm 11.6.1', { npm: 'echo 11.6.1' }, /^A release needs npm 11\.6\.2 or newer, and this is 11\.6\.1: /],
    ['npm 11.10.0 and no base', { npm: 'echo 11.10.0', buildah: 'exit 1' }, /^There is no image node-base/],
    [
      'to go on without the package',
      { npm: '[ $1 != ci ] || mkdir -p node_modules; [ $1 != pack ] && echo 11.6.2' },
      /^No release was written\.$/m,
    ],
    ['another public key', { minisign: '[ "$1" != -V ]' }, /^[^+]*is not its public key\.$/m],
  ] as [string, Record<string, string>, RegExp][])
    it(`refuses ${what}`, async () => {
      await refuses([...BASES, join(folder, 'refused')], expected, { PATH: await withTools(what, tools) })
    })

  it('refuses a folder that already has this version', async () => {
    const taken = join(folder, 'taken')
    await writeFiles(taken, { [`${VERSION}/SHA256SUMS`]: '' })
    const sentence = `${join(taken, VERSION)} is there already: remove it, or name another folder.\n`
    assert.deepEqual(await release(['--no-images', taken]), { code: 1, stderr: sentence })
  })

  it('ends if git fails to say whether the tree is clean', async () => {
    const git = `[ "$1" != status ] || exit 128\nexec '${await onPath('git')}' "$@"`
    const PATH = await withTools('failing', { git })
    assert.equal((await release(['--no-images', target], { PATH })).code, 128)
    assert.ok(!existsSync(target))
  })

  it('releases the commit that it checked, whatever HEAD is afterwards, and names the bases', async () => {
    const { code, stderr } = await release([...BASES, target], { MOVE: 'yes' })
    assert.equal(code, 0, stderr)
    const bill = 'sbom --sbom-format=cyclonedx'
    const installed = ['ci --prefer-offline', 'run build', bill, 'ci --prefer-offline --omit=dev']
    const called = [...stderr.matchAll(/^\+ npm (.+)$/gm)].map(([, call]) => call)
    assert.deepEqual(called, [...installed, 'pkg delete devDependencies', bill])
    assert.notEqual(await git('rev-parse', 'HEAD'), commit)
    const file = (name: string) => readFileSync(join(target, VERSION, name), 'utf8')
    assert.match(file('SHA256SUMS.minisig'), new RegExp(`commit ${commit}$`, 'm'))
    const head = ['node-base', 'web-base'].map((base) => `# Built on ${base}, sha256:of-${base}\n`).join('')
    assert.ok(file('images.yaml').startsWith(`${head}images:\n`), file('images.yaml'))
    assert.match(file('SHA256SUMS'), / images\.yaml$/m)
    const PLATFORM = `${process.platform}-${process.arch}`
    const cells = String(read('infra/runbook/release.md').match(/^\| `.+?` \|/gm))
    const own = cells.replaceAll('VERSION', VERSION).replace('PLATFORM', PLATFORM)
    const all = String(['auth', 'api', 'operator', 'web'].map((image) => own.replaceAll('NAME', image)))
    // The stand-in for npm packs nothing.
    const expected = all.match(/[\w.-]+/g)?.filter((name) => !name.endsWith('.tgz'))
    assert.deepEqual(new Set(await readdir(join(target, VERSION))), new Set(expected))
    const archive = `integration-access-service-${VERSION}-${PLATFORM}.tar.gz`
    const { stdout } = await run('tar', ['-tzf', join(target, VERSION, archive)])
    for (const name of LINKED) assert.ok(stdout.includes(`/${name}\n`), name)
    assert.equal(statSync(join(target, VERSION)).mode & 0o777, 0o755)
    const unpacked = join(folder, 'unpacked')
    await mkdir(unpacked)
    await run('tar', ['-xzf', join(target, VERSION, archive), '--strip-components=1', '-C', unpacked])
    const packed = /^(?:apps|infra|shared)\/|^(?:README|CHANGELOG|\.github\/(?:CONTRIBUTING|SECURITY))\.md$/
    const leading = PAGES.filter((page) => existsSync(join(unpacked, page))).flatMap((page) =>
      linksIn(readFileSync(join(unpacked, page), 'utf8')).map((link) => join(dirname(page), link)),
    )
    assert.ok(leading.length > 200, `${leading.length}`)
    assert.deepEqual(
      leading.filter((path) => !packed.test(path)),
      [],
    )
    // Read elsewhere, where a link to a file of the release would lead nowhere.
    const news = `## ${VERSION}, 2025-01-31\n\n- Mail (infra/mail.md), [more](https://a.test).\n`
    const key = `\nThe public key of the signature:\n\n    ${PUBLIC_KEY}\n`
    assert.equal(file('release-notes.md'), news + key)
  })

  for (const signal of ['SIGTERM', 'SIGINT'] as const)
    it(`ends what it runs at once on ${signal}, and leaves no file`, async () => {
      const wait = join(folder, signal)
      const releases = join(folder, `releases-${signal}`)
      const args = [...keys, '--no-images', releases]
      const child = spawn(join(repository, SCRIPT), args, options({ WAIT: wait }))
      const stderr = collectText(child.stderr)
      await eventually(() => existsSync(wait) && readFileSync(wait, 'utf8').endsWith('\n'))
      const npm = readFileSync(wait, 'utf8').trim()
      const began_ms = performance.now()
      child.kill(signal)
      // "close" waits for whoever holds standard output or error.
      const [code] = await once(child, 'close')
      assert.equal(code, 130)
      assert.ok(performance.now() - began_ms < 10_000)
      assert.match(stderr(), /No release was written\.\n$/)
      await eventually(() => !existsSync(`/proc/${npm}`))
      assert.deepEqual(await readdir(releases), [])
    })
})
