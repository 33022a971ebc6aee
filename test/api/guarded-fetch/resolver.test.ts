import assert from 'node:assert/strict'
import { createSocket, type Socket } from 'node:dgram'
import { createResolver, DNS_DEADLINE_MS } from '../../../apps/api/guarded-fetch/resolver.ts'
import { afterwards } from '../../support/block.ts'

const [A, AAAA, NXDOMAIN, SERVFAIL] = [1, 28, 3, 2]

type Answer = { code?: number; records?: Buffer[] } | 'silence'

/** A name server on loopback that gives the answers of a test and records its questions. */
async function startNameServer(
  answer: (name: string, type: number) => Answer,
  options: { deadline_ms?: number } = {},
) {
  const socket: Socket = createSocket('udp4')
  await new Promise<void>((resolve) => socket.bind(0, '127.0.0.1', resolve))
  const asked: string[] = []
  socket.on('message', (query, from) => {
    const labels: string[] = []
    let at = 12
    for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
      labels.push(query.subarray(at + 1, at + 1 + length).toString())
      at += 1 + length
    }
    const type = query.readUInt16BE(at + 1)
    asked.push(`${labels.join('.')} ${type}`)
    const said = answer(labels.join('.'), type)
    if (said === 'silence') return
    const { code = 0, records = [] } = said
    const head = Buffer.from(query.subarray(0, 12))
    head.writeUInt16BE(0x8180 | code, 2)
    head.writeUInt16BE(records.length, 6)
    head.writeUInt32BE(0, 8)
    const data = records.map((record) => {
      const fixed = Buffer.from('c00c00000001000000000000', 'hex')
      fixed.writeUInt16BE(type, 2)
      fixed.writeUInt16BE(record.length, 10)
      return Buffer.concat([fixed, record])
    })
    socket.send(Buffer.concat([head, query.subarray(12, at + 5), ...data]), from.port, from.address)
  })
  return {
    asked,
    resolve: createResolver({ servers: [`127.0.0.1:${socket.address().port}`], ...options }),
    stop: () => void socket.close(),
  }
}

const ipv4 = (text: string): Buffer => Buffer.from(text.split('.').map(Number))
const ipv6 = (hex: string): Buffer => Buffer.from(hex.padEnd(32, '0'), 'hex')

describe('the resolver', () => {
  async function resolving(
    answer: (name: string, type: number) => Answer,
    { name = 'hooks.acme.com', ...options }: { name?: string; deadline_ms?: number } = {},
  ) {
    const server = await startNameServer(answer, options)
    await using _ = afterwards(() => server.stop())
    return { resolution: await server.resolve(name), asked: server.asked }
  }

  it('gives every A and AAAA answer', async () => {
    const { resolution, asked } = await resolving((_name, type) => ({
      records: type === A ? [ipv4('93.184.216.34'), ipv4('10.0.0.1')] : [ipv6('26064700')],
    }))
    assert.deepEqual(resolution.addresses.sort(), ['10.0.0.1', '2606:4700::', '93.184.216.34'])
    assert.deepEqual([resolution.complete, resolution.failure], [true, null])
    assert.deepEqual(asked.sort(), [`hooks.acme.com ${A}`, `hooks.acme.com ${AAAA}`])
  })

  const onlyA = (other: Answer) => (_name: string, type: number) =>
    type === A ? { records: [ipv4('8.8.8.8')] } : other
  for (const [what, answer, addresses, complete, failure] of [
    ['takes a name with addresses of one family as complete', onlyA({}), ['8.8.8.8'], true, null],
    ['says when only one family was answered', onlyA({ code: SERVFAIL }), ['8.8.8.8'], false, null],
    ['says that a name without addresses has none', () => ({}), [], true, 'not_found'],
    ['says that there is no such name', () => ({ code: NXDOMAIN }), [], true, 'not_found'],
    ['says that a failing name server gave no answer', () => ({ code: SERVFAIL }), [], false, 'no_answer'],
  ] as const)
    it(what, async () => {
      assert.deepEqual((await resolving(answer)).resolution, { addresses, complete, failure })
    })

  it('gives up on a silent name server after two questions of each type', async () => {
    const { resolution, asked } = await resolving(() => 'silence')
    assert.deepEqual(resolution, { addresses: [], complete: false, failure: 'no_answer' })
    assert.ok(asked.length <= 4, asked.join())
  })

  it('asks again a second after a question that was lost', async () => {
    const lost = new Set<number>()
    const losingFirst = (name: string, type: number): Answer => {
      if (lost.has(type)) return onlyA({})(name, type)
      lost.add(type)
      return 'silence'
    }
    const { resolution } = await resolving(losingFirst, { deadline_ms: 4_500 })
    assert.equal(resolution.complete, true)
  })

  it('gives up on a silent name server at its deadline, which is 3 s, whatever is still to be asked', async () => {
    const { resolution, asked } = await resolving(() => 'silence', { deadline_ms: 50 })
    assert.deepEqual(resolution, { addresses: [], complete: false, failure: 'no_answer' })
    // It asks again after 1 s.
    assert.ok(asked.length <= 2, asked.join())
    assert.equal(DNS_DEADLINE_MS, 3_000)
  })

  it('reads no hosts file and no search list: the name is asked for as it is', async () => {
    for (const name of ['localhost', 'ip6-localhost', 'server']) {
      const { resolution, asked } = await resolving(() => ({ code: NXDOMAIN }), { name })
      assert.deepEqual(resolution.addresses, [], name)
      for (const question of asked) assert.match(question, new RegExp(`^${name} `))
    }
  })

  it('caches nothing: each call asks', async () => {
    const server = await startNameServer(onlyA({}))
    for (const _ of [1, 2]) await server.resolve('hooks.acme.com')
    server.stop()
    assert.equal(server.asked.length, 4)
  })

  it('ends a lookup at once when aborted', async () => {
    const server = await startNameServer(() => 'silence')
    const stop = new AbortController()
    const resolving = server.resolve('hooks.acme.com', stop.signal)
    stop.abort()
    assert.equal((await resolving).failure, 'no_answer')
    assert.equal((await server.resolve('hooks.acme.com', stop.signal)).failure, 'no_answer')
    server.stop()
    // It asks again after 1 s.
    assert.ok(server.asked.length <= 2, server.asked.join())
  })

  it('does not fail on an invalid name', async () => {
    const resolve = createResolver()
    for (const name of ['', '.', 'a..b', 'a'.repeat(300), ' ', '\0'])
      assert.deepEqual((await resolve(name)).addresses, [], JSON.stringify(name))
  })
})
