import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ConfigError } from '#shared/process/config.ts'
import { KeyCommandError, withKey } from '../../infra/key-command.ts'
import { runAdmin } from '../support/admin.ts'
import { startAuth, type TestAuth, tokenFields } from '../support/auth.ts'
import { type ServiceChild, startServiceChild } from '../support/process.ts'

const LAUNCHER = 'infra/deploy/with-key.ts'
const MAIN = 'apps/auth/main.ts'
const KEY = randomBytes(32).toString('base64')

describe('KEY_ENCRYPTION_KEY_COMMAND', () => {
  let folder: string
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'integration-access-key-'))
  })
  after(() => rm(folder, { recursive: true }))

  let scripts = 0
  async function script(...lines: string[]): Promise<string> {
    scripts += 1
    const file = join(folder, `script-${scripts}`)
    await writeFile(file, ['#!/bin/sh', ...lines, ''].join('\n'))
    await chmod(file, 0o700)
    return file
  }
  const keyFrom = (command: string, env: Record<string, string> = {}, deadline_ms = 10_000) =>
    withKey({ PATH: process.env.PATH, KEY_ENCRYPTION_KEY_COMMAND: command, ...env }, { deadline_ms })
  async function failure(command: string, deadline_ms?: number): Promise<Error> {
    const error = await keyFrom(command, {}, deadline_ms).then(
      () => assert.fail('it resolved'),
      (error: Error) => error,
    )
    assert.ok(!error.message.includes(KEY), 'the message contains the key')
    return error
  }

  it('is replaced by the key that it prints', async () => {
    const env = await keyFrom(await script(`echo ${KEY}`))
    assert.deepEqual([env.KEY_ENCRYPTION_KEY, env.KEY_ENCRYPTION_KEY_COMMAND], [KEY, undefined])
  })

  it('may print several keys, and gets its arguments and the environment', async () => {
    const env = await keyFrom(`${await script('echo "$1,$2,$OLDEST"')} ${KEY} ${KEY}`, { OLDEST: KEY })
    assert.equal(env.KEY_ENCRYPTION_KEY, `${KEY},${KEY},${KEY}`)
  })

  it('changes nothing where it is not set', async () => {
    const env = { KEY_ENCRYPTION_KEY: KEY }
    assert.equal(await withKey(env), env)
  })

  for (const name of ['KEY_ENCRYPTION_KEY', 'KEY_ENCRYPTION_KEY_FILE'])
    it(`is refused beside ${name}, and not run`, async () => {
      const ran = join(folder, `ran-${name}`)
      await assert.rejects(keyFrom(await script(`touch ${ran}`), { [name]: KEY }), ConfigError)
      await assert.rejects(readFile(ran), { code: 'ENOENT' })
    })

  for (const command of [
    'echo "a b"',
    "sh -c 'x'",
    'cat $HOME/key',
    'vault read x | base64',
    'a; b',
    'a > b',
    '`a`',
  ])
    it(`is refused where it needs a shell: ${command}`, async () => {
      const error = await failure(command)
      assert.ok(error instanceof ConfigError)
      assert.match(error.message, /KEY_ENCRYPTION_KEY_COMMAND: must be a program and its arguments/)
      assert.ok(!error.message.includes(command))
    })

  it('is refused if there is no such program', async () => {
    const error = await failure(join(folder, 'nothing'))
    assert.ok(error instanceof ConfigError)
    assert.equal(error.message, 'KEY_ENCRYPTION_KEY_COMMAND: cannot be run (ENOENT)')
  })

  it('is refused if it prints something else, without repeating it', async () => {
    const error = await failure(await script(`echo "{${KEY}}"`))
    assert.ok(error instanceof ConfigError)
    assert.match(error.message, /^KEY_ENCRYPTION_KEY_COMMAND: what it prints must be 32 bytes in base64/)
  })

  it('is refused if it prints too much', async () => {
    const error = await failure(await script('yes'))
    assert.ok(error instanceof ConfigError)
    assert.match(error.message, /prints more than 65536 bytes/)
  })

  it('reports its exit code and standard error if it fails, but no key', async () => {
    const error = await failure(await script('set -x', `echo ${KEY}`, 'echo "no such secret" >&2', 'exit 3'))
    assert.ok(error instanceof KeyCommandError)
    assert.match(error.message, /failed with code 3: \+ echo \[hidden\] .*no such secret/)
  })

  it('is given up after the deadline', async () => {
    const error = await failure(await script('sleep 20 &', 'exec sleep 20'), 300)
    assert.ok(error instanceof KeyCommandError)
    assert.match(error.message, /did not end within 0.3 seconds/)
  })

  it('is waited for until the deadline if what it started keeps its output open', async () => {
    const started_ms = performance.now()
    const { KEY_ENCRYPTION_KEY } = await keyFrom(await script('sleep 20 &', `echo ${KEY}`), {}, 1_000)
    assert.equal(KEY_ENCRYPTION_KEY, KEY)
    assert.ok(performance.now() - started_ms < 15_000)
  })

  it('finds its standard input at its end', async () => {
    assert.equal((await keyFrom(await script('cat', `echo ${KEY}`))).KEY_ENCRYPTION_KEY, KEY)
  })

  describe('of the authorization server', () => {
    let auth: TestAuth
    let env: Record<string, string>
    const children: ServiceChild[] = []
    before(async () => {
      auth = await startAuth()
      const { KEY_ENCRYPTION_KEY: _, ...rest } = auth.env as Record<string, string>
      env = rest
    })
    after(async () => {
      await Promise.all(children.map((child) => child.kill()))
      await auth.stop()
    })

    function start(command: string, args: string[] = []): ServiceChild {
      const child = startServiceChild(
        LAUNCHER,
        { ...env, PORT: '0', PROCESSES: '2', KEY_ENCRYPTION_KEY_COMMAND: command },
        [MAIN, ...args],
      )
      children.push(child)
      return child
    }

    it('runs once for all its processes, which then issue tokens, and is not logged', async () => {
      const runs = join(folder, 'runs')
      const key = auth.env.KEY_ENCRYPTION_KEY as string
      const child = start(await script(`echo x >> ${runs}`, `echo ${key}`))
      const { port } = await child.logged('listening')
      await child.logged('ready')
      const body = new URLSearchParams(tokenFields(await auth.createClient()))
      const response = await fetch(`http://127.0.0.1:${port}/v1/oauth/token`, { method: 'POST', body })
      assert.equal(response.status, 200)
      await child.kill()
      assert.equal((await child.exit).code, 0)
      assert.equal(await readFile(runs, 'utf8'), 'x\n')
      assert.ok(!`${JSON.stringify(child.lines)}${child.stderr()}`.includes(key))
    })

    for (const [what, line, code] of [
      ['1, so that it is started again, if the command fails', 'exit 2', 1],
      ['78 if the command prints no key', 'echo none', 78],
    ] as const)
      it(`exits with ${what}`, async () => {
        const child = start(await script(line))
        assert.equal((await child.exit).code, code)
        assert.match(child.stderr(), /^KEY_ENCRYPTION_KEY_COMMAND: /)
      })

    it('is part of config check', async () => {
      const check = (command: string) =>
        runAdmin(['config', 'check', 'auth'], { env: { ...env, KEY_ENCRYPTION_KEY_COMMAND: command } })
      const good = await check(await script(`echo ${KEY}`))
      assert.deepEqual([good.code, good.stdout.split('\n')[0]], [0, 'The settings are usable.'], good.stderr)
      const bad = await check(await script('echo none'))
      assert.deepEqual([bad.code, bad.stdout.split(':')[0]], [78, 'KEY_ENCRYPTION_KEY_COMMAND'])
    })

    it('gives the key to the admin commands that need it, and is not run by the others', async () => {
      const runs = join(folder, 'admin-runs')
      const command = await script(`echo x >> ${runs}`, `echo ${auth.env.KEY_ENCRYPTION_KEY}`)
      const admin = (...args: string[]) =>
        runAdmin(args, {
          env: { DATABASE_URL: auth.database.operatorUrl, KEY_ENCRYPTION_KEY_COMMAND: command },
        })
      assert.equal((await admin('key', 'list')).code, 0)
      await assert.rejects(readFile(runs), { code: 'ENOENT' })
      const { code, stdout } = await admin('key', 'reencrypt')
      assert.deepEqual([code, stdout], [0, 'Re-encrypted: 0.\n'])
      assert.equal(await readFile(runs, 'utf8'), 'x\n')
    })
  })
})
