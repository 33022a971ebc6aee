import assert from 'node:assert/strict'
import { mkdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { onPath } from '../../infra/local/child.ts'
import { debianProgram } from '../../infra/local/debian-program.ts'
import { REDIS } from '../../infra/local/redis-binary.ts'
import { sharedFolder } from '../support/folder.ts'

/** Like apt on a machine that has redis-tools: it downloads what is missing and what is named, and no more. */
const APT_GET = `#!/bin/sh
for arg; do
  case $arg in Dir::Cache=*) cache=\${arg#Dir::Cache=} ;; install) install=1 ;; esac
done
[ -n "$install" ] || exit 0
for arg; do
  case $arg in redis-*) : > "$cache/archives/$arg.deb" ;; esac
done`

/** As Debian packs it: the server is a link to a program of redis-tools. */
const DPKG_DEB = `#!/bin/sh
mkdir -p "$3/usr/bin"
case $2 in
  */redis-server.deb) ln -s redis-check-rdb "$3/usr/bin/redis-server" ;;
  */redis-tools.deb)
    printf '#!/bin/sh\\necho "Redis server v=7.2.0 sha=0 bits=64"\\n' > "$3/usr/bin/redis-check-rdb"
    chmod +x "$3/usr/bin/redis-check-rdb" ;;
esac`

describe('a program that Debian has', () => {
  const { PATH, XDG_CACHE_HOME } = process.env
  const folder = sharedFolder()

  before(async () => {
    const bin = join(folder, 'bin')
    await mkdir(bin)
    for (const name of ['sh', 'mkdir', 'ln', 'chmod'])
      await symlink((await onPath(name)) as string, join(bin, name))
    await writeFile(join(bin, 'apt-get'), APT_GET, { mode: 0o755 })
    await writeFile(join(bin, 'dpkg-deb'), DPKG_DEB, { mode: 0o755 })
    process.env.PATH = bin
    process.env.XDG_CACHE_HOME = join(folder, 'cache')
  })
  after(() => {
    process.env.PATH = PATH
    if (XDG_CACHE_HOME === undefined) delete process.env.XDG_CACHE_HOME
    else process.env.XDG_CACHE_HOME = XDG_CACHE_HOME
  })

  it('unpacks a Debian program whole beside an installed part: redis-tools without redis-server', async () => {
    const { command } = await debianProgram(REDIS)
    assert.match(command, /cache\/integration-access-service\/redis-server-.*\/usr\/bin\/redis-server$/)
  })
})
