import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const DEPLOY = join(import.meta.dirname, '../../infra/deploy')
const read = (file: string): string => readFileSync(join(DEPLOY, file), 'utf8')

describe('the files for containers', () => {
  const kubernetes = readdirSync(join(DEPLOY, 'kubernetes'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.yaml'))
    .map((name) => read(join('kubernetes', name)))

  it('leaves the number of pods to the autoscaler, which each apply would otherwise undo', () => {
    assert.ok(kubernetes.some((text) => text.includes('HorizontalPodAutoscaler')))
    for (const text of kubernetes) assert.doesNotMatch(text, /^ *replicas:|\/spec\/replicas/m)
  })

  it('has the API fetch keys from every instance of the authorization server', () => {
    for (const text of [...kubernetes, read('compose.yaml')])
      for (const [, host] of text.matchAll(/JWKS_URL(?:: |, value: ')http:\/\/([\w-]+):8081/g))
        assert.ok(host === 'auth' || host === 'integration-auth', host)
    assert.equal(read('compose.yaml').match(/aliases: \[auth\]/g)?.length, 2)
  })

  it('gives each instance behind nginx an address that it keeps', () => {
    const addresses = [...read('compose.yaml').matchAll(/ipv4_address: (\S+?)[ ,}]/g)].map(([, each]) => each)
    assert.equal(new Set(addresses).size, 5)
  })

  it('has nginx share one network with the services, so that they see it at the address that they trust', () => {
    const compose = read('compose.yaml')
    const networksOf = (service: string) => {
      const block = new RegExp(`\\n {2}${service}:\\n(?: {4}.*\\n)+`).exec(compose)?.[0] ?? ''
      return [...block.matchAll(/\b(inside|outside|front): \{/g)].map(([, name]) => name)
    }
    assert.deepEqual(networksOf('web'), ['inside', 'front'])
    for (const name of ['auth-1', 'auth-2']) assert.deepEqual(networksOf(name), ['inside'])
    for (const name of ['api-1', 'api-2']) assert.deepEqual(networksOf(name), ['inside', 'outside'])
  })

  it('starts again after a reboot whatever runs, and nothing else', () => {
    const compose = read('compose.yaml')
    const blocks = compose.split(/^(?=x-|services:| {2}[\w-]+:$)/m)
    const running = blocks.filter((block) => /<<: .*\*(?:running|auth|api)\b/.test(block))
    const names = running.map((block) => /[\w-]+/.exec(block)?.[0])
    assert.deepEqual(names, [
      'x-auth',
      'x-api',
      'postgres',
      'redis',
      'auth-1',
      'auth-2',
      'api-1',
      'api-2',
      'web',
    ])
  })
})
