import assert from 'node:assert/strict'
import { execSync, spawnSync } from 'node:child_process'
import { hash } from 'node:crypto'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { COMPOSE, parseYaml, readInfra, type Yaml } from '../support/deployment.ts'
import { ROOT } from '../support/project.ts'
import { CONTAINERS, MANIFESTS } from './deployed-programs.ts'

const SECRETS = join(ROOT, 'infra/deploy/compose-secrets.ts')
/** The users of the containers that read a secret; all others are the services'. */
const USERS: Record<string, number> = { postgres_password: 999, redis_acl: 999 }

describe('the files for containers', () => {
  it('leaves the number of pods to the autoscaler, which each apply would otherwise undo', () => {
    assert.ok(MANIFESTS.some(({ kind }) => kind === 'HorizontalPodAutoscaler'))
    assert.doesNotMatch(JSON.stringify(MANIFESTS), /"replicas":|\/spec\/replicas/)
  })

  it('keeps all on one network, but for nginx, which callers reach, and the API, which calls receivers', () => {
    const others = Object.entries<Yaml>(COMPOSE.services).flatMap(
      ([name, { networks, network_mode: mode }]) => {
        const names = Array.isArray(networks) ? networks : Object.keys(networks ?? { [mode]: {} })
        return names.join() === 'inside' ? [] : `${name}: ${names}`
      },
    )
    const api = ['api-1: inside,outside', 'api-2: inside,outside']
    assert.deepEqual(others, ['check-auth: none', 'check-api: none', ...api, 'web: inside,front'])
  })

  it('starts again after a reboot whatever runs, and nothing else', () => {
    const restarted = Object.entries<Yaml>(COMPOSE.services).flatMap(([name, { restart = 'no' }]) =>
      restart === 'no' ? [] : `${name} ${restart}`,
    )
    const names = ['postgres', 'redis', 'auth-1', 'auth-2', 'api-1', 'api-2', 'web']
    const expected = names.map((name) => `${name} unless-stopped`)
    assert.deepEqual(restarted, expected)
    // Nor is a command of the operator started with them.
    const commands = [...CONTAINERS.matchAll(/run --rm (?!--|migrate)(\w+)/g)]
    for (const [, name = ''] of commands) assert.deepEqual(COMPOSE.services[name].profiles, [name])
  })

  it('makes a PrometheusRule of the rules by the command of the runbook', () => {
    const [, command = ''] = /^(\{ printf .+PrometheusRule.+) > rules\.yaml$/m.exec(CONTAINERS) ?? []
    const { kind, spec } = parseYaml(execSync(command, { cwd: ROOT, encoding: 'utf8' }))
    assert.deepEqual([kind, spec], ['PrometheusRule', parseYaml(readInfra('monitoring/alerts.yaml'))])
  })

  describe('the secrets of compose.yaml', () => {
    let parent: string
    let folder: string
    const write = () => spawnSync(process.execPath, [SECRETS, folder], { encoding: 'utf8' })

    beforeEach(() => {
      parent = mkdtempSync(join(tmpdir(), 'integration-access-secrets-'))
      folder = join(parent, 'secrets')
      mkdirSync(folder)
    })
    afterEach(() => rmSync(parent, { recursive: true }))

    it('writes each secret that compose.yaml names, for the user of its container alone, as root', () => {
      const { status, stderr } = write()
      if (process.getuid?.() !== 0) {
        assert.deepEqual([status, readdirSync(folder)], [1, []])
        assert.match(stderr, /^Only root can give each secret to the user of its container\.\n$/)
        return
      }
      assert.deepEqual([status, stderr], [0, ''])
      const named = Object.values<Yaml>(COMPOSE.secrets).map(({ file }) => file.replace('./secrets/', ''))
      assert.deepEqual(readdirSync(folder), named.sort())
      for (const name of readdirSync(folder)) {
        const { mode, uid } = statSync(join(folder, name))
        assert.deepEqual([name, mode & 0o777, uid], [name, 0o400, USERS[name] ?? 10_001])
      }
      const secret = (name: string) => readFileSync(join(folder, name), 'utf8')
      for (const role of ['auth', 'api', 'operator'])
        assert.equal(
          secret(`${role}_database_url`),
          `postgres://integration_${role}:${secret(`${role}_password`)}@postgres/integration`,
        )
      for (const user of ['auth', 'api']) {
        const { username, password } = new URL(secret(`${user}_redis_url`))
        const line = `user ${username} on #${hash('sha256', password)} `
        assert.match(secret('redis_acl'), new RegExp(`^user default off\n(?:.*\n)?${line}`), user)
      }
      const owner = `postgres:${secret('postgres_password')}@postgres/integration`
      assert.equal(secret('owner_database_url'), `postgres://${owner}`)
      assert.equal(Buffer.from(secret('key_encryption_key'), 'base64').length, 32)
      const passwords = readdirSync(folder).filter((name) => name.endsWith('_password'))
      assert.equal(new Set(passwords.map(secret).filter(({ length }) => length === 48)).size, 4)
      folder = join(parent, 'not-mounted')
      assert.match(write().stderr, /^There is no folder .*: [^\n]*\n$/)
    })

    it('leaves a folder alone that has a secret already', () => {
      writeFileSync(join(folder, 'key_encryption_key'), 'in use')
      assert.equal(write().status, 1)
      assert.deepEqual(readdirSync(folder), ['key_encryption_key'])
    })
  })
})
