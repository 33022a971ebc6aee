import { existsSync } from 'node:fs'
import { chmod, mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { Failure } from '../local/failure.ts'
import { bundledIn, installedBy, wholeBill, writeBill } from './release-bill.ts'
import { type Bases, requireBases, writeImages } from './release-images.ts'
import { findMinisign, type KeyPair, sign, writeSums } from './release-signature.ts'
import { type Source, step } from './release-step.ts'

const ROOT = join(import.meta.dirname, '../..')
const USAGE =
  'Usage: npm run release -- --key FILE --public-key FILE (--base IMAGE --web-base IMAGE | --no-images) [FOLDER]'
const SHIPPED = 'CHANGELOG.md README.md package.json package-lock.json apps infra shared node_modules'.split(
  ' ',
)
const CHANGELOGS = ['CHANGELOG.md', 'apps/api/discovery/docs/pages/changelog.md'] as const

interface Request {
  folder: string
  keys: KeyPair
  /** Undefined if the images are left out. */
  images: Bases | undefined
}

const say = (line: string): void => {
  process.stderr.write(`${line}\n`)
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
    if (!/^## (\S+), \d{4}-\d\d-\d\d$/.test(heading) || !heading.startsWith(`## ${version}, `))
      throw new Failure(`${file} begins with "${heading}", not with "## ${version}, " and its day.`)
  }
  const time_s = Number(await git('log', '-1', '--format=%ct', 'HEAD'))
  return { version, commit: await git('rev-parse', 'HEAD'), time_s }
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
 * `folder`.
 */
async function build(source: Source, bases: Bases | undefined, folder: string): Promise<void> {
  const { tree, version, commit } = source
  const archive = join(tree, 'source.tar')
  await git('-c', 'tar.umask=0022', 'archive', '--format=tar', `--output=${archive}`, commit)
  await step(tree, 'tar', '--extract', `--file=${archive}`)
  await rm(archive)
  say('Installing the packages, building the screens')
  await step(tree, 'npm', 'ci', '--prefer-offline')
  await step(tree, 'npm', 'run', 'build')
  await step(tree, process.execPath, 'infra/deploy/package-command.ts', folder)
  const whole = await wholeBill(tree)
  await step(tree, 'npm', 'ci', '--prefer-offline', '--omit=dev')
  say('Packing')
  const file = join(
    folder,
    `integration-access-service-${version}-${process.platform}-${process.arch}.tar.gz`,
  )
  await pack(source, file)
  const installed = installedBy(await readFile(join(tree, 'node_modules/.package-lock.json'), 'utf8'))
  await writeBill(file, new Set([...installed, ...(await bundledIn(tree))]), whole, source)
  if (!bases) return
  say('Building the images')
  await writeImages(source, bases, folder, whole)
}

async function release({ folder, keys, images }: Request): Promise<string> {
  const commit = await findCommit()
  const { version } = commit
  const target = join(folder, version)
  for (const file of Object.values(keys))
    if (!existsSync(file))
      throw new Failure(
        `There is no key ${file}: make a pair with "minisign -G -s ${keys.key} -p ${keys.publicKey}".`,
      )
  if (existsSync(target)) throw new Failure(`${target} is there already: remove it, or name another folder.`)
  if (images) await requireBases(ROOT, images)
  const minisign = await findMinisign(say)
  await mkdir(folder, { recursive: true })
  const unfinished = await mkdtemp(join(folder, '.unfinished-'))
  const tree = await mkdtemp(join(tmpdir(), 'integration-access-release-'))
  try {
    const source = { ...commit, tree }
    await build(source, images, unfinished)
    const [, changes = ''] = (await readFile(join(tree, 'CHANGELOG.md'), 'utf8')).split(/^(?=## )/m)
    // Its first line is a comment.
    const publicKey = (await readFile(keys.publicKey, 'utf8')).trim().split('\n').at(-1)
    const notes = `${changes.trimEnd()}\n\nThe public key of the signature:\n\n    ${publicKey}\n`
    await writeFile(join(unfinished, 'release-notes.md'), notes)
    const sums = await writeSums(unfinished)
    await sign(minisign, sums, keys, `integration-access-service ${version}, commit ${source.commit}`)
    await chmod(unfinished, 0o755)
    await rename(unfinished, target)
    return target
  } finally {
    await rm(tree, { recursive: true, force: true })
    await rm(unfinished, { recursive: true, force: true })
  }
}

/*
 * Makes a release of the tagged commit that is checked out, in a folder named after its version. The runbook's
 * release.md describes its files.
 */
// The images' users read what is built here, whatever the umask of whoever runs this.
process.umask(0o022)
// Ctrl-C reaches the running step too, whose failure removes what is unfinished.
process.once('SIGINT', () => {})
try {
  process.stdout.write(`${await release(readRequest(process.argv.slice(2)))}\n`)
} catch (error) {
  process.stderr.write(`${(error as Error).message}\n`)
  process.exitCode = 1
}
