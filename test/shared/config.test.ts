import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { ConnectionOptions } from 'node:tls'
import pg from 'pg'
import { z } from 'zod'
import {
  ConfigError,
  httpUrl,
  integer,
  issuerUrl,
  publicUrl,
  readConfig,
  readServiceConfig,
  storeWeakness,
} from '#shared/process/config.ts'
import { apiShape } from '../../apps/api/config.ts'
import { authShape } from '../../apps/auth/config.ts'
import { OPERATOR_SHAPE } from '../../infra/admin/operator.ts'
import { listSettings } from '../../infra/admin/setting-reference.ts'
import { MIGRATE_SHAPE } from '../../infra/database/migrate-settings.ts'
import { LOCAL_SHAPE } from '../../infra/local-settings.ts'
import { sharedFolder } from '../support/folder.ts'
import { recordedTexts } from '../support/recorded.ts'

/** Returns the problems, a line each, without the heading. */
function findProblems(env: Record<string, string>, shape: z.ZodRawShape): string[] {
  try {
    readConfig(env, shape)
    return []
  } catch (error) {
    assert.ok(error instanceof ConfigError)
    return error.message.split('\n  ').slice(1)
  }
}

describe('the settings', () => {
  describe('a PGSSLMODE', () => {
    const shape = { DATABASE_URL: z.string().optional() }
    const REFUSED = ['PGSSLMODE: is not read: say in DATABASE_URL, by sslmode, whether to use TLS']
    for (const [mode, url, problems] of [
      ['require', 'postgres://db.example/d', REFUSED],
      ['prefer', 'postgres://db.example/d', REFUSED],
      ['verify-full', 'postgres://localhost/d?application_name=sslmode', REFUSED],
      ['require', 'postgres://db.example/d?sslmode=disable', []],
      ['require', 'postgres://db.example/d?keepalives=1&ssl=true', []],
      ['verify-full', 'postgres://db.example/d?sslrootcert=/ca.pem', []],
      ['disable', 'postgres://db.example/d', []],
      ['allow', 'postgres://db.example/d', []],
      ['require', '', []],
    ] as const)
      it(`${problems.length > 0 ? 'refuses' : 'ignores'} PGSSLMODE=${mode} with ${url || 'no DATABASE_URL'}`, () =>
        assert.deepEqual(findProblems({ PGSSLMODE: mode, DATABASE_URL: url }, shape), problems))
  })

  describe('an address that others rely on', () => {
    const both = { ISSUER: issuerUrl, API_RESOURCE: publicUrl }
    for (const [url, why] of [
      ['https://auth.example.com', undefined],
      ['http://localhost:8080', undefined],
      ['http://127.8.9.1', undefined],
      ['http://[::1]:8080', undefined],
      ['http://auth.example.com', 'must be https; http is allowed only for a loopback host'],
      ['http://127.0.0.1.example.com', 'must be https; http is allowed only for a loopback host'],
      ['http://0.0.0.0', 'must be https; http is allowed only for a loopback host'],
      ['http://10.0.0.1', 'must be https; http is allowed only for a loopback host'],
      ['https://u:p@auth.example.com', 'must be an http(s) URL'],
      ['https://@auth.example.com', 'must be an http(s) URL'],
      ['https://auth.example.com/', 'must be an http(s) URL'],
      ['https://auth.example.com?', 'must be an http(s) URL'],
      ['https://auth.example.com#', 'must be an http(s) URL'],
      ['ftp://auth.example.com', 'must be an http(s) URL'],
    ] as const)
      it(`${why === undefined ? 'takes' : 'refuses'} the address ${url}`, () => {
        const problems = findProblems({ ISSUER: url, API_RESOURCE: url }, both)
        if (why === undefined) assert.deepEqual(problems, [])
        else
          for (const name of ['ISSUER', 'API_RESOURCE'])
            assert.ok(
              problems.some((problem) => problem.startsWith(`${name}: ${why}`)),
              String(problems),
            )
        assert.doesNotMatch(problems.join(), /example/)
      })

    it('refuses an issuer with a path, since its metadata is at the root; the resource may have one', () => {
      const url = 'https://example.com/integration'
      const problems = findProblems({ ISSUER: url, API_RESOURCE: url }, both)
      assert.deepEqual(problems, ['ISSUER: must not have a path'])
    })
  })

  it('allows keys to be fetched by plain http inside the installation, but no password in the address', () => {
    const problems = (url: string) => findProblems({ JWKS_URL: url }, { JWKS_URL: httpUrl }).join()
    assert.equal(problems('http://auth:8081/v1/oauth/jwks'), '')
    assert.match(problems('http://u:p@auth/jwks'), /without user/)
  })

  describe('that would leave a secret or a limit to strangers', () => {
    const keys = (...each: number[]) => each.map((byte) => Buffer.alloc(32, byte).toString('base64')).join()
    const WIDE =
      'must not hold a range wider than /7: whoever is in it chooses its own address for every limit'
    for (const [name, value, problem] of [
      ['KEY_ENCRYPTION_KEY', keys(0), 'must be random: openssl rand -base64 32'],
      ['KEY_ENCRYPTION_KEY', keys(0, 7), 'must be random: openssl rand -base64 32'],
      // What was encrypted with it can still be moved to another.
      ['KEY_ENCRYPTION_KEY', keys(7, 0), undefined],
      ['TRUSTED_PROXIES', 'fc00::/6', WIDE],
      ['TRUSTED_PROXIES', '10.0.0.1,0.0.0.0/1,128.0.0.0/1', WIDE],
      ['TRUSTED_PROXIES', '10.0.0.0/8,fc00::/7,127.0.0.1', undefined],
    ] as const)
      it(`${problem ? 'refuses' : 'takes'} ${name}=${value}`, () => {
        const problems = findProblems({ [name]: value }, { [name]: authShape[name] })
        assert.deepEqual(problems, problem ? [`${name}: ${problem}`] : [])
      })
  })

  describe('the URL of a store', () => {
    const START =
      'must be a URL that starts with redis://, rediss://, redis+sentinel:// or rediss+sentinel://'
    const SEVERAL = 'names several hosts: name one that always leads to the primary'
    const NONE = 'names no host: write localhost before the path, also if ?host= names a socket'
    const INVALID =
      'is not a valid URL: percent-encode its password (# is %23, % is %25, / is %2F, ? is %3F, @ is %40), and check its port'
    const POSTGRES_QUERY =
      'may have only sslmode, sslrootcert, sslcert, sslkey, ssl, uselibpqcompat, host in its query'
    const SENTINEL_QUERY = 'may have only sentinel_user, sentinel_password in its query'
    const NO_QUERY = 'may have no query: TLS is rediss://, and another database is a path, such as /1'
    const GROUP =
      'must end with the name of its group, such as /main, if it is for Sentinel, else with its hosts'
    for (const [name, url, problem] of [
      ['DATABASE_URL', 'postgres://u:p@h/db', undefined],
      ['DATABASE_URL', 'postgresql://u@[::1]:5432/db?sslmode=verify-full', undefined],
      ['DATABASE_URL', 'postgres://u:a@b@h/db?sslrootcert=a@b', undefined],
      ['DATABASE_URL', 'postgres://u:p@localhost/db?host=/cloudsql/p:r:i', undefined],
      ['DATABASE_URL', 'mysql://h/db', 'must be a URL that starts with postgres:// or postgresql://'],
      ['DATABASE_URL', 'postgres://u:p@/db?host=/cloudsql/p:r:i', NONE],
      ['DATABASE_URL', 'postgres://u:p@h1,h2/db', SEVERAL],
      ['DATABASE_URL', 'postgres://u:p@h1:5432,h2:5432/db?target_session_attrs=read-write', SEVERAL],
      ['DATABASE_URL', 'postgres://u:p@h1%2Ch2/db', SEVERAL],
      ['DATABASE_URL', 'postgres://u:p@localhost/db?host=h1,h2', SEVERAL],
      ['DATABASE_URL', 'postgres://u:p@localhost/db?host=h1%2ch2', SEVERAL],
      // pg would connect to the last.
      ['DATABASE_URL', 'postgres://u:p@localhost/db?host=h1&host=h2', SEVERAL],
      ['DATABASE_URL', 'postgres://u:a/b@h/db', INVALID],
      // Drivers would drop what follows it.
      ['DATABASE_URL', 'postgres://u:p@h/db?sslmode=verify-full#b', INVALID],
      ['REDIS_URL', 'redis://u:a#b@h', INVALID],
      ['REDIS_URL', 'redis://h#b', INVALID],
      // Without a look at what follows the port, this would lead to port 1 of a host "u".
      ['DATABASE_URL', 'postgres://u:1/b@h/db', INVALID],
      ['DATABASE_URL', 'postgres://u:p@h:x/db', INVALID],
      ['REDIS_URL', 'redis://u:p@h1,h2', SEVERAL],
      ['REDIS_URL', 'redis+sentinel://u:p@h1:26379,h2/main', undefined],
      ['REDIS_URL', 'redis+sentinel://u:a/b@h1,h2/main', INVALID],
      ['REDIS_URL', 'redis+sentinel://u:a@b@h1,h2/main?sentinel_user=u&sentinel_password=a%25', undefined],
      ['REDIS_URL', 'redis+sentinel://h:1', GROUP],
      ['REDIS_URL', 'redis+sentinel://h:1/main/0', GROUP],
      ['REDIS_URL', 'redis://u:p@h/1', undefined],
      // Drivers decode what these have no characters for.
      ['REDIS_URL', 'redis://u:a%b@h', INVALID],
      // Drivers prefer these to what the program sets.
      ['REDIS_URL', 'redis://u:p@h?enableOfflineQueue=true', NO_QUERY],
      ['REDIS_URL', 'redis+sentinel://h/main?sentinel_user=u&db=1', SENTINEL_QUERY],
      ['DATABASE_URL', 'postgres://u:p@h/db?statement_timeout=0', POSTGRES_QUERY],
      ['DATABASE_URL', 'postgres://u:p@h/db?sslmode=verify-full&options=-c%20role%3Dx', POSTGRES_QUERY],
      ['REDIS_URL', 'redis+cluster://u:p@h1,h2', START],
      ['RATE_REDIS_URL', 'redis+cluster://u:p@h1:6379,h2', undefined],
      ['RATE_REDIS_URL', 'rediss+cluster://u:a%40b@[::1]:1/', undefined],
      // It would lead to a server on the same machine.
      ['RATE_REDIS_URL', 'redis+cluster://u:p@h1,', NONE],
      ['RATE_REDIS_URL', 'redis+cluster://u:p@h/1', GROUP],
      ['RATE_REDIS_URL', 'redis+cluster://u:p@h?natMap=x', NO_QUERY],
      // ioredis would connect without TLS.
      ['REDIS_URL', 'REDISS://u:p@h', START],
    ] as const)
      it(`${problem ? 'refuses' : 'takes'} the store’s URL ${url}`, () => {
        const problems = findProblems({ [name]: url }, { [name]: authShape[name] })
        assert.deepEqual(problems, problem ? [`${name}: ${problem}`] : [])
      })
  })

  describe('a store without TLS', () => {
    for (const [url, isPlain] of [
      ['postgres://u:p@db.internal/integration', true],
      ['postgres://u:p@10.0.0.1/integration?sslmode=disable', true],
      ['postgres://u:p@10.0.0.1/integration?sslmode=verify-full', false],
      ['postgres://u:p@10.0.0.1/integration?x=1&ssl=true', false],
      ['postgres://u:p@10.0.0.1/integration?ssl=true&sslmode=disable', true],
      ['postgres://u:p@10.0.0.1/integration?sslmode=no-verify', false],
      ['postgres://u:p@10.0.0.1/integration?sslrootcert=/ca.pem', false],
      ['postgres://u:p@localhost/integration?host=10.0.0.1', true],
      ['postgres://u:p@localhost/integration?host=/var/run/postgresql', false],
      ['postgres://u:p@localhost/integration', false],
      ['postgres://u:p@localhost.example.com/integration', true],
      ['redis://u:p@redis', true],
      ['rediss://u:p@redis', false],
      ['redis://u:p@127.0.0.1', false],
      ['redis+sentinel://u:p@redis-1:26379,redis-2/main', true],
      ['rediss+sentinel://u:p@redis-1:26379,redis-2/main', false],
      ['redis+cluster://u:p@redis-1,redis-2', true],
    ] as const)
      it(`finds ${isPlain ? 'no ' : ''}TLS in ${url}`, () =>
        assert.equal(storeWeakness(url)?.event === 'store.unencrypted', isPlain))
  })

  describe('a store whose TLS accepts any certificate', () => {
    for (const [query, isUnverified] of [
      ['sslmode=no-verify', true],
      ['ssl=no-verify', true],
      ['uselibpqcompat=true&sslmode=require', true],
      ['uselibpqcompat=true&sslmode=verify-full', false],
      ['sslmode=verify-full', false],
      // Without uselibpqcompat, pg verifies by each of these.
      ['sslmode=require', false],
      ['ssl=true', false],
    ] as const)
      it(`finds that ${query} ${isUnverified ? 'accepts any certificate' : 'checks certificates'}`, () => {
        const url = `postgres://u:p@10.0.0.1/integration?${query}`
        const problem = 'accepts any certificate of another machine'
        const expected = isUnverified ? { event: 'store.unverified', problem } : undefined
        assert.deepEqual(storeWeakness(url), expected)
        // What pg makes of it.
        const { ssl } = new pg.Client(url) as { ssl: boolean | ConnectionOptions }
        assert.equal(typeof ssl === 'object' && ssl.rejectUnauthorized === false, isUnverified)
      })

    it('names no store on this machine as one that accepts any certificate', () =>
      assert.equal(storeWeakness('postgres://u:p@localhost/integration?sslmode=no-verify'), undefined))
  })

  describe('in files', () => {
    const shape = { DATABASE_URL: z.string().min(3, 'short').meta({ secret: true }), PORT: integer(0, 9, 1) }
    const folder = sharedFolder()

    function writeSecretFile(content: string): string {
      const path = join(folder, 'secret')
      writeFileSync(path, content)
      return path
    }

    for (const end of ['', '\n', '\r\n'])
      it(`reads a setting from a file without ${JSON.stringify(end)} at the end`, () => {
        const config = readConfig({ DATABASE_URL_FILE: writeSecretFile(` a secret \t${end}`) }, shape)
        assert.equal(config.DATABASE_URL, ' a secret \t')
      })

    it('refuses a setting given twice', () => {
      const env = { DATABASE_URL: 'other', DATABASE_URL_FILE: writeSecretFile('secret') }
      const problem = 'DATABASE_URL: is set twice, directly and by DATABASE_URL_FILE: remove one'
      assert.deepEqual(findProblems(env, shape), [problem])
    })

    for (const [what, path, problem] of [
      ['is not there', () => '/nowhere', 'DATABASE_URL_FILE: no such file or directory'],
      ['is a folder', () => folder, 'DATABASE_URL_FILE: illegal operation on a directory'],
      ['is empty', () => writeSecretFile('\n'), 'DATABASE_URL_FILE: names an empty file'],
      ['holds what is wrong in the environment too', () => writeSecretFile('ab'), 'DATABASE_URL: short'],
      ['never ends', () => '/dev/zero', 'DATABASE_URL_FILE: names a file of more than 65536 bytes'],
    ] as const)
      it(`refuses a setting whose file ${what}`, () =>
        assert.deepEqual(findProblems({ DATABASE_URL_FILE: path() }, shape), [problem]))

    it('refuses the file of a setting that is no secret, rather than to go without it', () => {
      const problems = findProblems({ DATABASE_URL: 'abc', PORT_FILE: writeSecretFile('7') }, shape)
      assert.deepEqual(problems, ['PORT_FILE: is not read, since PORT is no secret: set PORT'])
    })
  })

  describe('that do not exist', () => {
    for (const name of ['RATE_OTHER', 'OPENID_ISSUER_FILE', 'KEY_ENCRYPTION_KEY_COMMAND', 'TRUSTED_PROXYS'])
      it(`refuses ${name} at a service, by name and beside other problems`, () => {
        const env = { PROCESSES: '0', [name]: 'hunter2' }
        assert.throws(() => readServiceConfig(env, { PROCESSES: integer(1, 9, 1) }), {
          message: `The configuration is invalid:
  ${name}: is not a setting of this service: rename or remove it
  PROCESSES: must be a whole number from 1 to 9`,
        })
      })

    it('takes variables of other programs', () => {
      const others = ['PATH', 'HOSTNAME', 'REDIS_SERVICE_HOST', 'REDIS_PORT', 'DATABASE_NAME', 'npm_config_x']
      const env = Object.fromEntries(others.map((name) => [name, 'x']))
      assert.deepEqual(readServiceConfig(env, { PROCESSES: integer(1, 9, 1) }), { PROCESSES: 1 })
    })

    for (const [service, shape] of Object.entries({ authShape, apiShape }))
      it(`takes each setting of ${service}, and each secret’s file`, () => {
        const names = Object.keys(shape).flatMap((name) => [name, `${name}_FILE`])
        const env = Object.fromEntries(names.map((name) => [name, 'x']))
        assert.throws(
          () => readServiceConfig(env, shape),
          (error: Error) => error instanceof ConfigError && !/is not a setting/.test(error.message),
        )
      })
  })

  const shapes = { authShape, apiShape, LOCAL_SHAPE, MIGRATE_SHAPE, OPERATOR_SHAPE }

  const { assertRecorded } = recordedTexts(new URL('config.txt', import.meta.url), [])
  for (const [name, shape] of Object.entries(shapes))
    it(`says as written that every setting of ${name} is wrong`, () => {
      const envOf = (value: string) => Object.fromEntries(Object.keys(shape).map((key) => [key, value]))
      for (const value of ['', ' ', 'x y', '123456789', 'z'.repeat(5_000)]) {
        const problems = findProblems(envOf(value), shape).join('\n')
        assert.doesNotMatch(problems, /invalid|expected|received|Too (?:big|small)|z{9}/i)
        assertRecorded(`${name}: '${value.slice(0, 12)}'`, problems)
      }
    })

  for (const [name, shape] of Object.entries(shapes))
    for (const setting of listSettings(shape))
      it(`describes ${setting.name} of ${name} in the reference`, () =>
        assert.ok(setting.description, `give its schema .meta({ description: '…' })`))
})
