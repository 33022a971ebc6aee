import { existsSync } from 'node:fs'
import { chmod, mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { Failure } from '../local/failure.ts'
import { bundledIn, installedBy, wholeBill, writeBill } from './release-bill.ts'
import { type Bases, findBases, writeImages } from './release-images.ts'
import { writeProvenance, writeSums } from './release-provenance.ts'
import { findMinisign, sign } from './release-signature.ts'
import { type Source, step } from './release-step.ts'

const ROOT = join(import.meta.dirname, '../..')
const USAGE = 'Usage: npm run release -- --key FILE (--base IMAGE --web-base IMAGE | --no-images) [FOLDER]'
const SHIPPED = 'CHANGELOG.md README.md package.json package-lock.json apps infra shared node_modules'.split(
  ' ',
)
const CHANGELOGS = ['CHANGELOG.md', 'apps/api/discovery/docs/pages/changelog.md'] as const

interface Request {
  folder: string
  key: string
  /** Undefined if the images are left out. */
  images: { node: string; web: string } | undefined
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
      base: { type: 'string' },
      'web-base': { type: 'string' },
      'no-images': { type: 'boolean' },
    },
  })
  const { key, base: node, 'web-base': web, 'no-images': without } = values
  const images = node && web ? { node, web } : undefined
  if (!key || positionals.length > 1 || Boolean(images) === Boolean(without)) throw new Failure(USAGE)
  return { folder: resolve(positionals[0] ?? join(ROOT, 'release')), key: resolve(key), images }
}

/**
 * Finds the commit to release.
 * @throws Failure if it is not exactly what a tag named after its version holds, or its changelogs do not name it.
 */
async function findCommit(): Promise<{ source: Omit<Source, 'tree'>; notes: string }> {
  const git = (...args: string[]) => step(ROOT, 'git', ...args)
  const { version } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8'))
  if (await git('status', '--porcelain'))
    throw new Failure('The working tree has changes that are not committed: commit or remove them first.')
  if (!(await git('tag', '--points-at', 'HEAD')).split('\n').includes(version))
    throw new Failure(`The commit has no tag ${version}, its version in package.json: git tag -a ${version}`)
  const [notes = ''] = await Promise.all(CHANGELOGS.map((file) => topOf(file, version)))
  const [commit = '', time_s = ''] = (await git('show', '-s', '--format=%H %ct')).split(' ')
  return { source: { version, commit, time_s }, notes }
}

/** The top section of a changelog, which must be headed by the version and a day. */
async function topOf(file: string, version: string): Promise<string> {
  const [, notes = ''] = (await readFile(join(ROOT, file), 'utf8')).split(/^(?=## )/m)
  const [heading = ''] = notes.split('\n', 1)
  const [named, day = ''] = heading.slice('## '.length).split(', ')
  if (named !== version || !/^\d{4}-\d\d-\d\d$/.test(day))
    throw new Failure(`${file} begins with "${heading}", not with "## ${version}, " and the day of release.`)
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
    `--transform=s,^,integration-access-service-${version}/,S`,
  ]
  await step(tree, 'tar', ...options, ...SHIPPED)
}

/** Installs and builds the commit in a folder of its own, and writes everything but the provenance into `folder`. */
async function build(source: Source, bases: Bases | undefined, folder: string): Promise<void> {
  const { tree, version, commit } = source
  const archive = join(tree, 'source.tar')
  await step(ROOT, 'git', '-c', 'tar.umask=0022', 'archive', '--format=tar', `--output=${archive}`, commit)
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
  await writeBill(file, new Set([...installed, ...(await bundledIn(tree))]), whole)
  if (!bases) return
  say('Building the images')
  await writeImages(source, bases, folder, whole)
}

async function release({ folder, key, images }: Request): Promise<string> {
  const { source, notes } = await findCommit()
  const { version, commit } = source
  const target = join(folder, version)
  if (!existsSync(key)) throw new Failure(`There is no key ${key}: make one with "minisign -G -s ${key}".`)
  if (existsSync(target)) throw new Failure(`${target} is there already: remove it, or name another folder.`)
  const bases = images && (await findBases(ROOT, images.node, images.web))
  const minisign = await findMinisign(say)
  const started = new Date()
  await mkdir(folder, { recursive: true })
  const unfinished = await mkdtemp(join(folder, '.unfinished-'))
  const tree = await mkdtemp(join(tmpdir(), 'integration-access-release-'))
  try {
    await build({ ...source, tree }, bases, unfinished)
    await writeFile(join(unfinished, 'release-notes.md'), notes)
    await writeProvenance({ ...source, tree }, bases, started, unfinished)
    const sums = await writeSums(unfinished)
    await sign(minisign, sums, key, `integration-access-service ${version}, commit ${commit}`)
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
