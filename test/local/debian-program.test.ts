import assert from 'node:assert/strict'
import { mkdir, readdir, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { onPath } from '../../infra/local/child.ts'
import { debianProgram } from '../../infra/local/debian-program.ts'
import { REDIS } from '../../infra/local/redis.ts'
import { describeFailure } from '../../infra/local/start-error.ts'
import { afterwards } from '../support/block.ts'
import { sharedFolder } from '../support/folder.ts'

/** Acts as apt on a machine that has redis-tools: it downloads what is missing and what is named, no more. */
const APT_GET = `
for arg; do
  case $arg in
    Dir::Cache=*) cache=\${arg#Dir::Cache=} ;;
    Dir::State::lists=*) lists=\${arg#Dir::State::lists=} ;;
    install) install=1 ;;
  esac
done
[ -n "$install" ] || { : > "$lists/deb.example_dists_stable_main_Packages"; exit 0; }
for arg; do
  case $arg in redis-*) : > "$cache/archives/$arg.deb" ;; esac
done`

const NOT_FOUND = 'Unable to locate package redis-server'
/** Warns about this mirror when it updates, and finds no package. */
const aptWithout = (mirrors: string) => `
for arg; do
  case $arg in
    Dir::State::lists=*) lists=\${arg#Dir::State::lists=} ;;
    install) echo 'E: ${NOT_FOUND}' >&2; exit 100 ;;
  esac
done
${mirrors}`
const NO_ANSWER = `echo "W: Failed to fetch http://deb.example/InRelease  Temporary failure resolving" >&2`
const AN_ANSWER = ': > "$lists/other.example_dists_stable_main_Packages"'

/** As Debian packs it: the server is a link to a program of redis-tools. */
const DPKG_DEB = `
mkdir -p "$3/usr/bin"
case $2 in
  */redis-server.deb) ln -s redis-check-rdb "$3/usr/bin/redis-server" ;;
  */redis-tools.deb)
    printf '#!/bin/sh\\necho "Redis server v=7.2.0 sha=0 bits=64"\\n' > "$3/usr/bin/redis-check-rdb"
    chmod +x "$3/usr/bin/redis-check-rdb" ;;
esac`

describe('a program that Debian has', () => {
  const { PATH, HOME, XDG_CACHE_HOME } = process.env
  const folder = sharedFolder()
  const bin = join(folder, 'bin')
  const cache = join(folder, 'cache/integration-access-service')

  const script = (name: string, text: string) =>
    writeFile(join(bin, name), `#!/bin/sh\n${text}\n`, { mode: 0o755 })

  before(async () => {
    await mkdir(bin)
    for (const name of ['sh', 'mkdir', 'ln', 'chmod', 'sleep'])
      await symlink((await onPath(name)) as string, join(bin, name))
    Object.assign(process.env, { PATH: bin, HOME: folder })
  })
  beforeEach(async () => {
    process.env.XDG_CACHE_HOME = join(folder, 'cache')
    await script('apt-get', APT_GET)
    await script('dpkg-deb', DPKG_DEB)
  })
  after(() => {
    Object.assign(process.env, { PATH, HOME })
    if (XDG_CACHE_HOME === undefined) delete process.env.XDG_CACHE_HOME
    else process.env.XDG_CACHE_HOME = XDG_CACHE_HOME
  })

  const failure = (): Promise<string> =>
    debianProgram(REDIS).then(
      () => 'it was found',
      (error: unknown) => describeFailure(error, '/data'),
    )

  for (const [reason, name, text] of [
    ['no Debian mirror answered', 'apt-get', aptWithout(NO_ANSWER)],
    ['apt knows no mirror', 'apt-get', aptWithout('')],
    [NOT_FOUND, 'apt-get', aptWithout(AN_ANSWER)],
    [`${NOT_FOUND}; not every mirror answered`, 'apt-get', aptWithout(`${AN_ANSWER}; ${NO_ANSWER}`)],
    ['dpkg-deb: error: C', 'dpkg-deb', 'echo "dpkg-deb: error: $LC_ALL" >&2; exit 2'],
    ['what apt has is too old, or does not run here', 'dpkg-deb', 'mkdir -p "$3"'],
  ] as const)
    it(`says why it could not be fetched, and leaves nothing: ${reason}`, async () => {
      await script(name, text)
      const sentence = `No Redis server of version 7 or newer was found on the PATH, and none could be fetched (${reason}): install redis-server or valkey-server, or set REDIS_URL to a server that runs.`
      assert.equal(await failure(), sentence)
      assert.deepEqual(await readdir(cache), [])
    })

  for (const name of ['apt-get', 'dpkg-deb'])
    it(`gives up on ${name} that never ends, and leaves nothing`, async () => {
      await script(name, `trap '' TERM; while :; do sleep 1; done`)
      const unpacking = debianProgram({ ...REDIS, deadline_ms: 3_000 })
      await assert.rejects(unpacking, new RegExp(`could be fetched \\(${name} took too long\\)`))
      assert.deepEqual(await readdir(cache), [])
    })

  it('says that the disk of the cache is full, and leaves nothing', async () => {
    const sentence = `The disk that holds ${cache} is full: make room, or set XDG_CACHE_HOME to a folder on another disk.`
    const unpacking = debianProgram(REDIS, () => {}, Number.POSITIVE_INFINITY)
    await assert.rejects(unpacking, { message: sentence })
    assert.deepEqual(await readdir(cache), [])
  })

  it('unpacks a Debian program whole beside an installed part: redis-tools without redis-server', async () => {
    const { command } = await debianProgram(REDIS)
    assert.match(command, /cache\/integration-access-service\/redis-server-.*\/usr\/bin\/redis-server$/)
  })

  for (const value of ['', 'relative'])
    it(`keeps it in the home folder if XDG_CACHE_HOME is no absolute path: "${value}"`, async () => {
      process.env.XDG_CACHE_HOME = value
      const { command } = await debianProgram(REDIS)
      assert.ok(command.startsWith(join(folder, '.cache/integration-access-service/')), command)
    })

  it('passes over a program on the PATH that does not say its version', async () => {
    await script('redis-server', 'exec sleep 600')
    await using _ = afterwards(() => rm(join(bin, 'redis-server')))
    const { command } = await debianProgram({ ...REDIS, deadline_ms: 3_000 })
    assert.ok(command.startsWith(cache), command)
  })
})
