import { existsSync } from 'node:fs'
import { chmod, mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { EXIT_INTERRUPTED, onInterruption } from '../interruption.ts'
import { errorCode, Failure } from '../local/failure.ts'
import { heartbeat } from '../progress.ts'
import { bundledIn, installedBy, wholeBill, writeBill } from './release-bill.ts'
import { type Bases, findBases, type Image, writeImages } from './release-images.ts'
import { writeProvenance, writeSums } from './release-provenance.ts'
import { findMinisign, type KeyPair, sign } from './release-signature.ts'
import { interruption, type Source, say, step } from './release-step.ts'

const ROOT = join(import.meta.dirname, '../..')
const USAGE =
  'Usage: npm run release -- --key FILE --public-key FILE (--base IMAGE --web-base IMAGE | --no-images) [FOLDER]'
const SHIPPED = 'CHANGELOG.md README.md package.json package-lock.json apps infra shared node_modules'.split(
  ' ',
)
const UNRELEASED = 'not yet released'
const HEADING = new RegExp(`^## (\\S+), ${UNRELEASED}$`, 'gm')
const CHANGELOGS = ['CHANGELOG.md', 'apps/api/discovery/docs/pages/changelog.md'] as const

interface Request {
  folder: string
  keys: KeyPair
  /** Undefined if the images are left out. */
  images: { node: string; web: string } | undefined
}

/** @throws Failure with the usage if the arguments are not complete. */
function readRequest(args: string[]): Request {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: {
      key: { type: 'string' },
      'public-key': { type: 'string' },
      base: { type: 'string' },
      'web-base': { type: 'string' },
      'no-images': { type: 'boolean' },
    },
  })
  const { key, 'public-key': publicKey, base: node, 'web-base': web, 'no-images': without } = values
  const images = node && web ? { node, web } : undefined
  if (!key || !publicKey || positionals.length > 1 || Boolean(images) === Boolean(without))
    throw new Failure(USAGE)
  const keys = { key: resolve(key), publicKey: resolve(publicKey) }
  return { folder: resolve(positionals[0] ?? join(ROOT, 'release')), keys, images }
}

/** Older ones list a package once for each folder that has it. */
const NPM_OLDEST = '11.6.2'

/** @throws Failure if npm is missing or too old. */
async function requireNpm(): Promise<void> {
  const version = await step(ROOT, 'npm', '--version')
  const isOlder = version.localeCompare(NPM_OLDEST, 'en', { numeric: true }) < 0
  if (isOlder)
    throw new Failure(
      `A release needs npm ${NPM_OLDEST} or newer, and this is ${version}: npm install --global npm@${NPM_OLDEST}`,
    )
}

const git = (...args: string[]): Promise<string> => step(ROOT, 'git', ...args)

/**
 * Finds the commit to release.
 * @throws Failure if it is not exactly what a tag named after its version holds, or its changelogs do not name it.
 */
async function findCommit(): Promise<Omit<Source, 'tree'>> {
  const { version } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8'))
  if (await git('status', '--porcelain'))
    throw new Failure('The working tree has changes that are not committed: commit or remove them first.')
  if (!(await git('tag', '--points-at', 'HEAD')).split('\n').includes(version))
    throw new Failure(`The commit has no tag ${version}, its version in package.json: git tag -a ${version}`)
  for (const file of CHANGELOGS) {
    const [heading] = /^## .*$/m.exec(await readFile(join(ROOT, file), 'utf8')) ?? ['nothing']
    if (heading !== `## ${version}, ${UNRELEASED}`)
      throw new Failure(`${file} begins with "${heading}", not with "## ${version}, ${UNRELEASED}".`)
  }
  return { version, commit: await git('rev-parse', 'HEAD'), time_s: await timeOf('HEAD') }
}

const timeOf = async (commit: string): Promise<number> =>
  Number(await git('log', '-1', '--format=%ct', commit))

/** Gives each version in the changelogs the day of its tag's commit. Returns the section of the newest one. */
async function dateChangelogs(tree: string): Promise<string> {
  const [notes = ''] = await Promise.all(
    CHANGELOGS.map(async (file) => {
      let text = await readFile(join(tree, file), 'utf8')
      for (const [heading, version = ''] of text.matchAll(HEADING)) {
        const day = new Date((await timeOf(version)) * 1_000).toISOString().slice(0, 'yyyy-mm-dd'.length)
        text = text.replace(heading, `## ${version}, ${day}`)
      }
      await writeFile(join(tree, file), text)
      return text.split(/^(?=## )/m)[1] ?? ''
    }),
  )
  return notes
}

/** Packs what runs in production. The same commit gives the same bytes: order, times, owners and modes are fixed. */
async function pack({ tree, version, time_s }: Source, file: string): Promise<void> {
  const options = [
    '--create',
    `--file=${file}`,
    '--use-compress-program=gzip -n',
    '--format=gnu',
    '--sort=name',
    `--mtime=@${time_s}`,
    ...['--owner=0', '--group=0', '--numeric-owner', '--mode=u+rw,go+r-w,a+X'],
    '--hard-dereference',
    // npm's own notes differ between its versions.
    '--exclude=node_modules/.package-lock.json',
    // Only building the screens needs it.
    '--exclude=apps/workspace/src/api/openapi.d.ts',
    `--transform=s,^,integration-access-service-${version}/,S`,
  ]
  await step(tree, 'tar', ...options, ...SHIPPED)
}

/**
 * Installs and builds the commit in a folder of its own, and writes the files that are installed, with their bills, into
 * `folder`. Returns the images and what is new in the release.
 */
async function build(
  source: Source,
  bases: Bases | undefined,
  folder: string,
): Promise<{ images: Image[]; changes: string }> {
  const { tree, version, commit } = source
  const archive = join(tree, 'source.tar')
  await git('-c', 'tar.umask=0022', 'archive', '--format=tar', `--output=${archive}`, commit)
  await step(tree, 'tar', '--extract', `--file=${archive}`)
  await rm(archive)
  const changes = await dateChangelogs(tree)
  say('Installing all packages')
  await step(tree, 'npm', 'ci', '--prefer-offline')
  say('Building the screens')
  await step(tree, 'npm', 'run', 'build')
  say('Building the package that verifies access tokens')
  await step(tree, process.execPath, 'infra/deploy/package-command.ts', folder)
  say('Listing all packages')
  const whole = await wholeBill(tree)
  say('Installing the production packages alone')
  await step(tree, 'npm', 'ci', '--prefer-offline', '--omit=dev')
  say('Packing')
  const file = join(
    folder,
    `integration-access-service-${version}-${process.platform}-${process.arch}.tar.gz`,
  )
  await pack(source, file)
  const installed = installedBy(await readFile(join(tree, 'node_modules/.package-lock.json'), 'utf8'))
  await writeBill(file, new Set([...installed, ...(await bundledIn(tree))]), whole, source)
  return { images: bases ? await writeImages(source, bases, folder, whole) : [], changes }
}

/** Returns the key of a public key's file, whose first line is a comment. */
const publicKeyIn = async (file: string): Promise<string> =>
  (await readFile(file, 'utf8')).trim().split('\n').at(-1) ?? ''

const alreadyThere = (target: string): Failure =>
  new Failure(`${target} is there already: remove it, or name another folder.`)

async function release({ folder, keys, images }: Request): Promise<string> {
  await requireNpm()
  const commit = await findCommit()
  const { version } = commit
  const target = join(folder, version)
  for (const file of Object.values(keys))
    if (!existsSync(file))
      throw new Failure(
        `There is no key ${file}: make a pair with "minisign -G -s ${keys.key} -p ${keys.publicKey}".`,
      )
  if (existsSync(target)) throw alreadyThere(target)
  const bases = images && (await findBases(ROOT, images.node, images.web))
  const minisign = await heartbeat(say, () => 'Looking for minisign', findMinisign(say))
  await mkdir(folder, { recursive: true })
  const unfinished = await mkdtemp(join(folder, '.unfinished-'))
  const tree = await mkdtemp(join(tmpdir(), 'integration-access-release-'))
  try {
    const source = { ...commit, tree }
    const built = await build(source, bases, unfinished)
    const notes = `${built.changes.trimEnd()}\n\nThe public key of the signature:\n\n    ${await publicKeyIn(keys.publicKey)}\n`
    await writeFile(join(unfinished, 'release-notes.md'), notes)
    await writeProvenance(source, { bases, images: built.images }, unfinished)
    const sums = await writeSums(unfinished)
    say('Signing')
    await sign(minisign, sums, keys, `integration-access-service ${version}, commit ${source.commit}`)
    await chmod(unfinished, 0o755)
    interruption.signal.throwIfAborted()
    await rename(unfinished, target).catch((error) => {
      throw errorCode(error) === 'ENOTEMPTY' ? alreadyThere(target) : error
    })
    return target
  } finally {
    await heartbeat(say, () => 'Removing the build', rm(tree, { recursive: true, force: true }))
    await rm(unfinished, { recursive: true, force: true })
  }
}

/*
 * Makes a release of the tagged commit that is checked out, in a folder named after its version. The runbook's
 * release.md describes its files.
 */
// The images' users read what is built here, whatever the umask of whoever runs this.
process.umask(0o022)
// The end of the running step removes what is unfinished.
using _ = onInterruption(() => interruption.abort())
try {
  process.stdout.write(`${await release(readRequest(process.argv.slice(2)))}\n`)
} catch (error) {
  const { aborted } = interruption.signal
  say(aborted ? 'Interrupted: no release was written.' : (error as Error).message)
  process.exitCode = aborted ? EXIT_INTERRUPTED : 1
}
