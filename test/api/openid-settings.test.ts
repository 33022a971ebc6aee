import assert from 'node:assert/strict'
import { readApiConfig } from '../../apps/api/config.ts'
import { readInfra } from '../support/deployment.ts'

describe('the settings of an OpenID provider', () => {
  const BASE = {
    DATABASE_URL: 'postgres://x/y',
    REDIS_URL: 'redis://x',
    ISSUER: 'https://api.test',
    API_RESOURCE: 'https://api.test',
  }
  const GOOD = {
    OPENID_ISSUER: 'https://login.example.com/realms/a/',
    OPENID_CLIENT_ID: 'x',
    OPENID_CLIENT_SECRET: 'y',
    OPENID_COMPANIES: '*',
  }
  const problems = (env: Record<string, string>): string[] => {
    try {
      readApiConfig({ ...BASE, ...env })
      return []
    } catch (error) {
      return (error as Error).message
        .replaceAll(/(?<=is required) and .*/g, '')
        .split('\n  ')
        .slice(1)
    }
  }

  it('accepts what the runbook prints', () => {
    const [, block = ''] = /```sh\n([\s\S]+?)```/.exec(readInfra('runbook/openid.md')) ?? []
    const lines = [...block.matchAll(/^ *(OPENID_\w+)="?([^"\n]+)"?$/gm)]
    const env = Object.fromEntries(lines.map(([, name, value]) => [name, value]))
    assert.deepEqual(problems(env), ['OPENID_CLIENT_SECRET_FILE: no such file or directory'])
  })

  it('takes what follows the last sign of a pair for ours', () => {
    const env = { OPENID_COMPANIES: 'dc=shop=ven_acme', OPENID_ROLES: 'cn=staff=member, YWI= = admin' }
    const { companies, roles } = readApiConfig({ ...BASE, ...GOOD, ...env }).openid ?? assert.fail()
    assert.deepEqual(companies, new Map([['dc=shop', 'ven_acme']]))
    assert.equal([...roles.entries()].join(), 'cn=staff,member,YWI=,admin')
  })

  it('requires all OpenID settings or none', () => {
    assert.equal(readApiConfig(BASE).openid, undefined)
    assert.equal(readApiConfig({ ...BASE, ...GOOD }).openid?.issuer, GOOD.OPENID_ISSUER)
    const names = ['OPENID_ISSUER', 'OPENID_CLIENT_ID', 'OPENID_CLIENT_SECRET', 'OPENID_COMPANIES']
    const missing = names.map((name) => `${name}: is required`)
    for (const env of [{ OPENID_NAME: 'x' }, { BUILT_IN_ACCOUNTS: 'off' }] as Record<string, string>[])
      assert.deepEqual(problems(env), missing)
    const inFile = problems({ OPENID_CLIENT_SECRET_FILE: '/nowhere' })
    assert.ok(inFile.includes('OPENID_ISSUER: is required'), inFile.join())
    const { OPENID_CLIENT_SECRET: _, ...without } = GOOD
    assert.deepEqual(problems(without), ['OPENID_CLIENT_SECRET: is required'])
    assert.deepEqual(problems({ ...without, OPENID_CLIENT_SECRET_FILE: '/nowhere' }), [
      'OPENID_CLIENT_SECRET_FILE: no such file or directory',
    ])
  })

  for (const [name, value] of [
    ['OPENID_ISSUER', 'http://login.example.com'],
    ['OPENID_ISSUER', 'https://login.example.com?x'],
    ['OPENID_COMPANIES', 'acme'],
    ['OPENID_COMPANIES', 'ven_acme,*'],
    ['OPENID_ROLES', 'boss=owner'],
    ['OPENID_SCOPE', 'email'],
    ['OPENID_COMPANY_CLAIM', 'two words'],
    ['BUILT_IN_ACCOUNTS', 'no'],
  ] as const)
    it(`refuses ${name}=${value}`, () =>
      assert.match(problems({ ...GOOD, [name]: value }).join('\n'), new RegExp(`^${name}: `)))
})
