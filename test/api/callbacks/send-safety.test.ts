import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import fc from 'fast-check'
import type { TestResult } from '../../../apps/api/callbacks/test-result.ts'
import type { AddressRule } from '../../../apps/api/guarded-fetch/address-verdict.ts'
import { ANY_CHARACTER } from '../../support/any-character.ts'
import { forBlock } from '../../support/block.ts'
import { createCertificate } from '../../support/certificates.ts'
import { eventually } from '../../support/eventually.ts'
import { run } from '../../support/program.ts'
import {
  answering,
  authority,
  RECEIVER_NAME,
  startTcpReceiver,
  startTlsReceiver,
  strangeAuthority,
} from '../../support/receivers.ts'
import { EVERYTHING } from '../../support/tier.ts'
import { assertUnconfirmed, createResolution, resolverWith, ruleWith, senderFor, sendTo } from './sending.ts'

const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n'

describe('a test send connects to addresses that were judged public, and to no other', () => {
  const receiver = forBlock(() => startTlsReceiver({ talk: answering(OK) }))
  /** On the port of the receiver, at every address that must not be reached. */
  const traps = ['127.0.0.2', '127.0.0.3', '::1'].map((host) =>
    forBlock(() => startTcpReceiver(() => {}, host, receiver.port)),
  )
  beforeEach(() => {
    for (const server of [receiver, ...traps]) Object.assign(server, { connections: 0, received: '' })
  })
  const trapped = () => traps.reduce((sum, trap) => sum + trap.connections, 0)

  it('notices a send that runs into a trap', async () => {
    const socket = connect(receiver.port, '127.0.0.2')
    await once(socket, 'connect')
    socket.destroy()
    await new Promise((resolve) => setTimeout(resolve, 20))
    assert.equal(trapped(), 1)
  })

  for (const [what, addresses] of [
    ['loopback', ['127.0.0.2']],
    ['a public and a private one', ['127.0.0.1', '127.0.0.2']],
    ['a private and a public one', ['127.0.0.2', '127.0.0.1']],
    ['one private among many', [...Array(20).fill('127.0.0.1'), '10.0.0.1']],
    ['v4-mapped public', ['::ffff:127.0.0.1']],
    ['no address at all', ['not an address']],
    ['an address with a zone', ['fe80::1%lo']],
  ] as const)
    it(`refuses ${what}: no connection, and the address is not revealed`, async () => {
      const { resolve, names } = resolverWith(createResolution(...addresses))
      const result = await sendTo(receiver.url, { resolve })
      assertUnconfirmed(result, /not public, so nothing was sent/)
      assert.deepEqual([result.receiver, names.length, trapped() + receiver.connections], [null, 1, 0])
      const told = JSON.stringify({ ...result, url: '' })
      for (const address of addresses) assert.ok(!told.includes(address), told)
    })

  it('asks DNS once, so a second answer changes nothing', async () => {
    const { resolve, names } = resolverWith(createResolution('127.0.0.1'), createResolution('127.0.0.2'))
    assert.equal((await sendTo(receiver.url, { resolve })).outcome, 'success')
    assert.deepEqual([names.length, receiver.connections, trapped()], [1, 1, 0])
  })

  it('tries the next checked address when the first does not answer', async () => {
    const { resolve } = resolverWith(createResolution('127.0.0.9', '127.0.0.1'))
    const result = await sendTo(receiver.url, { resolve, checkAddress: ruleWith('127.0.0.9', '127.0.0.1') })
    assert.deepEqual([result.outcome, result.receiver?.address], ['success', '127.0.0.1'])
  })

  it('tries six addresses of a name, and no more', async () => {
    const addresses = Array.from({ length: 7 }, (_, i) => `127.0.0.${10 + i}`)
    await using last = await startTlsReceiver({ talk: answering(OK), host: addresses.at(-1) as string })
    const delivered = async (to: string[]) => {
      const { resolve } = resolverWith(createResolution(...to))
      return (await sendTo(last.url, { resolve, checkAddress: ruleWith(...to) })).delivered
    }
    assert.deepEqual([await delivered(addresses), await delivered(addresses.slice(1))], [false, true])
  })

  it('ends a connection whose peer is no longer allowed', async () => {
    let checks = 0
    const checkAddress: AddressRule = (address) =>
      checks++ === 0 ? { public: true, address } : { public: false, reason: 'denied' }
    const result = await sendTo(receiver.url, { checkAddress })
    assert.match(result.advice, /not public/)
    assert.deepEqual([receiver.received, result.receiver], ['', null])
  })

  it('ends a connection to a public address that is not among the checked ones', async () => {
    // The address of the connection reads differently from the one that was checked; both count as public.
    const checked: string[] = []
    const checkAddress: AddressRule = (address) => {
      checked.push(address)
      return { public: true, address: checked.length === 1 ? '127.0.0.1' : '127.0.0.9' }
    }
    const { resolve } = resolverWith(createResolution('127.0.0.1'))
    const event = { url: receiver.url, vendorId: 'v', signal: new AbortController().signal }
    const { result, failure, addressReason } = await senderFor({ resolve, checkAddress }).send(event)
    assert.deepEqual([failure, addressReason], ['address_not_public', 'not_checked'])
    assert.deepEqual([receiver.connections, receiver.received, result?.receiver], [1, '', null])
  })

  for (const url of [
    ...['https://127.0.0.2:PORT/', 'https://localhost:PORT/', 'http://hooks.acme-receiver.com:PORT/'],
    ...['https://user@hooks.acme-receiver.com:PORT/', 'not a url'],
  ])
    it(`refuses ${url}, should it ever have been saved`, async () => {
      const { resolve, names } = resolverWith(createResolution('127.0.0.1'))
      const saved = url.replace('PORT', String(receiver.port))
      const result = await sendTo(saved, { resolve, checkAddress: ruleWith() })
      assert.deepEqual([result.outcome, result.receiver], ['unconfirmed', null])
      assert.deepEqual([names, trapped() + receiver.connections], [[], 0])
    })

  it('connects only to public addresses, whatever the URL and DNS say', async () => {
    // The real rule, with 127.0.0.1 standing in for every public address of the world.
    const publicToo: string[] = []
    let reached = 0
    const real = ruleWith()
    const checkAddress: AddressRule = (address) => {
      if (!real(address).public && address !== '127.0.0.1') return real(address)
      if (address !== '127.0.0.1') publicToo.push(address)
      return publicToo.length > 0 ? { public: true, address: '127.0.0.1' } : real(address)
    }
    const own = '127.0.0.2 127.0.0.3 ::1 ::ffff:127.0.0.2 0.0.0.0 127.2 0x7f000002'
    const inside = fc.constantFrom(...own.split(' '))
    const anyText = fc.string({ unit: ANY_CHARACTER })
    const host = fc.oneof(inside, fc.ipV4Extended(), fc.ipV6(), fc.domain(), anyText)
    const trick = fc.constantFrom('', '', '', '@127.0.0.2', '#', '\\@', '%2f', '.')
    const url = fc.tuple(host, trick, fc.webPath()).map(([name, odd, path]) => {
      return `https://${name.includes(':') ? `[${name}]` : name}${odd}:${receiver.port}${path}`
    })
    const answers = fc.array(fc.oneof(inside, fc.ipV4(), fc.ipV6(), fc.string()), { maxLength: 4 })
    await fc.assert(
      fc.asyncProperty(url, answers, async (saved, addresses) => {
        publicToo.length = 0
        receiver.connections = 0
        const resolve = async () => createResolution(...addresses)
        const result = await sendTo(saved, { resolve, checkAddress })
        assert.equal(trapped(), 0)
        const isLiteral = result.timings.dnsMs === null
        const isPublic = isLiteral || addresses.every((address) => real(address).public)
        const allowed = publicToo.length > 0 && isPublic
        assert.equal(receiver.connections, allowed ? 1 : 0)
        reached += receiver.connections
        if (!allowed) assert.equal(result.receiver, null)
      }),
      { numRuns: EVERYTHING ? 400 : 150 },
    )
    assert.ok(reached > 0, 'no run reached the public stand-in')
  })
})

describe('a test send in a process whose environment is hostile', () => {
  const PROXIES = ['HTTPS_PROXY', 'HTTP_PROXY', 'ALL_PROXY', 'https_proxy', 'http_proxy', 'all_proxy']
  const environment = (trapPort: number) => ({
    ...Object.fromEntries(PROXIES.map((name) => [name, `http://127.0.0.1:${trapPort}`])),
    NO_PROXY: '',
    NODE_USE_ENV_PROXY: '1',
    NODE_TLS_REJECT_UNAUTHORIZED: '0',
    NODE_OPTIONS: '--tls-min-v1.0',
    NODE_NO_WARNINGS: '1',
  })
  // One process sends to all three, one after another.
  const proxy = forBlock(() => startTcpReceiver((socket) => socket.end('HTTP/1.1 200 OK\r\n\r\n')))
  const named = { commonName: RECEIVER_NAME, names: [RECEIVER_NAME] }
  const { pem: cert, keyPem: key } = createCertificate({ ...named, issuer: strangeAuthority })
  const outdated = { minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' } as const
  const good = forBlock(() => startTlsReceiver({ talk: answering(OK) }))
  const strange = forBlock(() => startTlsReceiver({ talk: answering(OK), tls: { cert, key } }))
  const old = forBlock(() => startTlsReceiver({ talk: answering(OK), tls: outdated }))
  let results: TestResult[]
  before(async () => {
    const urls = [good, strange, old].map(({ url }) => url)
    const program = ['test/api/callbacks/send-once.ts', authority.pem, ...urls]
    const env = { ...process.env, ...environment(proxy.port) }
    const { stdout } = await run(process.execPath, program, { env })
    results = JSON.parse(stdout).map(({ result }: { result: TestResult }) => result)
  })

  it('uses no proxy from the environment', () => {
    assert.deepEqual([results[0]?.outcome, good.connections, proxy.connections], ['success', 1, 0])
  })

  it('verifies certificates whatever the environment', () => {
    assert.match(results[1]?.advice ?? '', /unknown issuer/)
    assert.equal(strange.received, '')
  })

  it('requires TLS 1.2 whatever the environment', () =>
    assert.match(results[2]?.advice ?? '', /enable TLS 1\.2/))
})

describe('a test send that is stopped', () => {
  const silentReceiver = () => startTlsReceiver({ talk: () => {} })

  it('ends at once when its caller stops it, and leaves no connection', async () => {
    await using receiver = await silentReceiver()
    const caller = new AbortController()
    const sending = senderFor().send({ url: receiver.url, vendorId: 'v', signal: caller.signal })
    await eventually(() => receiver.received.includes('sentAt'))
    caller.abort()
    // The receiver's silence would have been a result.
    assert.equal((await sending).result, null)
    await eventually(() => receiver.open.size === 0)
  })

  it('does not connect when stopped during the DNS lookup', async () => {
    await using receiver = await silentReceiver()
    const caller = new AbortController()
    const resolve = () => new Promise<never>(() => {})
    const sending = senderFor({ resolve }).send({ url: receiver.url, vendorId: 'v', signal: caller.signal })
    caller.abort()
    assert.equal((await sending).result, null)
    assert.equal(receiver.connections, 0)
  })

  it('ends when the sender closes, and starts no later sends', async () => {
    await using receiver = await silentReceiver()
    const sender = senderFor()
    const event = { url: receiver.url, vendorId: 'v', signal: new AbortController().signal }
    const sending = [sender.send(event), sender.send(event)]
    await eventually(() => receiver.connections === 2)
    await sender.close()
    for (const { result } of await Promise.all(sending)) assert.equal(result, null)
    assert.equal((await sender.send(event)).result, null)
    assert.equal(receiver.connections, 2)
  })

  it('stops one send without disturbing another', async () => {
    await using silent = await silentReceiver()
    await using other = await startTlsReceiver({ talk: answering(OK) })
    const caller = new AbortController()
    const sender = senderFor()
    const event = { vendorId: 'v' }
    const stopped = sender.send({ ...event, url: silent.url, signal: caller.signal })
    const sending = sender.send({ ...event, url: other.url, signal: new AbortController().signal })
    caller.abort()
    assert.equal((await stopped).result, null)
    assert.equal((await sending).result?.outcome, 'success')
  })
})

describe('the name in SNI and Host', () => {
  it('puts the saved name into SNI and Host, though it connects to an address', async () => {
    let servername: string | false | null = null
    await using receiver = await startTlsReceiver({
      talk: (socket) => {
        servername = socket.servername
        answering(OK)(socket)
      },
    })
    await sendTo(receiver.url)
    assert.equal(servername, RECEIVER_NAME)
    assert.match(receiver.received, new RegExp(`^host: ${RECEIVER_NAME}:${receiver.port}`, 'im'))
  })
})
