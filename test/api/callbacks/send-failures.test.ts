import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { TLSSocket, type TlsOptions } from 'node:tls'
import type { TestResult } from '../../../apps/api/callbacks/test-result.ts'
import { createResolver, type Resolution } from '../../../apps/api/guarded-fetch/resolver.ts'
import { createCertificate } from '../../support/certificates.ts'
import {
  answering,
  authority,
  goodTls,
  RECEIVER_NAME,
  type Receiver,
  startTcpReceiver,
  startTlsReceiver,
  strangeAuthority,
} from '../../support/receivers.ts'
import { startBlackhole } from './blackhole.ts'
import {
  assertUnconfirmed,
  createResolution,
  resolverWith,
  ruleWith,
  type SendingOptions,
  senderFor,
  sendTo,
} from './sending.ts'

const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n'
const DAY_MS = 86_400_000

const WEAK = /uses a key or signature that is too weak/

describe('a test send over TLS', () => {
  async function resultWith(tls: TlsOptions, options: SendingOptions = {}): Promise<TestResult> {
    await using receiver = await startTlsReceiver({ tls, talk: answering(OK) })
    const result = await sendTo(receiver.url, options)
    assert.doesNotMatch(receiver.received, /test_event/)
    return result
  }
  const OWN_NAME = { commonName: RECEIVER_NAME, names: [RECEIVER_NAME] }
  const certified = (given: Partial<Parameters<typeof createCertificate>[0]>): TlsOptions => {
    const certificate = createCertificate({ ...OWN_NAME, issuer: authority, ...given })
    return { cert: certificate.pem, key: certificate.keyPem, ciphers: 'DEFAULT@SECLEVEL=0' }
  }

  it('refuses an expired certificate and says on which day it expired', async () => {
    const validTo = new Date('2026-03-14T10:00:00Z')
    const result = await resultWith(certified({ validFrom: new Date('2025-03-14T10:00:00Z'), validTo }))
    assertUnconfirmed(result, /^The certificate of hooks\.acme-receiver\.com expired on 14 March 2026;/)
    assert.equal(result.receiver?.certificateExpiresAt, '2026-03-14T10:00:00.000Z')
  })

  it('does not show an invalid name from a certificate', async () => {
    const names = ['\u001b[31m<script>.com', `ses_${'a1'.repeat(21)}b<`, 'a b.com', 'ok.com']
    assertUnconfirmed(await resultWith(certified({ names })), /is for ok\.com, not for hooks/)
  })

  const OTHERS = ['a.com', '*.a.com', 'x.com', 'y.com']
  const NAMES_OTHERS = /is for a\.com, \*\.a\.com, x\.com, not for hooks\.acme-receiver\.com;/
  const SHORT_KEYS = generateKeyPairSync('rsa', { modulusLength: 1_024 })
  const self = createCertificate(OWN_NAME)
  const leaf = createCertificate({ commonName: 'leaf.com', names: ['leaf.com'], issuer: authority })
  const BETWEEN = { commonName: 'Between', isAuthority: true, issuer: authority }
  const [validFrom, validTo] = [new Date('2025-01-01T00:00:00Z'), new Date('2026-01-31T00:00:00Z')]
  const ended = createCertificate({ ...BETWEEN, validFrom, validTo })
  const withIssuer = (issuer: typeof authority): TlsOptions => {
    const { cert, ...others } = certified({ issuer })
    return { ...others, cert: `${cert}${issuer.pem}` }
  }
  for (const [what, tls, advice] of [
    ['that is not valid yet', certified({ validFrom: new Date(Date.now() + 5 * DAY_MS) }), /not valid yet;/],
    ['for another host and says which', certified({ names: OTHERS }), NAMES_OTHERS],
    ['without alternative names', certified({ names: [], commonName: 'old.com' }), /is for old\.com, not/],
    ['that is self-signed', { cert: self.pem, key: self.keyPem }, /is self-signed/],
    ['of an unknown issuer', certified({ issuer: strangeAuthority }), /unknown issuer/],
    ['of an unknown issuer that sends its root along', withIssuer(strangeAuthority), /unknown issuer/],
    ['without its intermediate', certified({ issuer: createCertificate(BETWEEN) }), /with its full chain/],
    ['whose intermediate has expired', withIssuer(ended), /^An intermediate certificate of \S+ has expired;/],
    ['with an RSA key of 1,024 bits', certified({ keys: SHORT_KEYS }), WEAK],
    ['signed with SHA-1', certified({ hash: 'sha1' }), WEAK],
    ['with a critical extension that no one knows', certified({ isUnknown: true }), /is not acceptable/],
    ['signed by another one that is no authority', withIssuer(leaf), /certificate/],
  ] as const)
    it(`refuses a certificate ${what}`, async () => assertUnconfirmed(await resultWith(tls), advice))

  it('trusts public authorities when given no others', async () => {
    await using receiver = await startTlsReceiver({ talk: answering(OK) })
    assertUnconfirmed(await sendTo(receiver.url, { certificateAuthority: undefined }), /unknown issuer/)
  })

  for (const version of ['TLSv1', 'TLSv1.1'] as const)
    it(`refuses the TLS version ${version}`, async () => {
      const tls = { minVersion: version, maxVersion: version, ciphers: 'DEFAULT@SECLEVEL=0' } as const
      assertUnconfirmed(await resultWith(tls), /enable TLS 1\.2 or 1\.3/)
    })

  for (const version of ['TLSv1.2', 'TLSv1.3'] as const) {
    it(`accepts the TLS version ${version}`, async () => {
      const tls = { minVersion: version, maxVersion: version }
      await using receiver = await startTlsReceiver({ tls, talk: answering(OK) })
      const result = await sendTo(receiver.url)
      assert.equal(result.outcome, 'success')
      assert.ok(result.log.some((line) => line.startsWith(version.replace('TLSv', 'TLS '))))
      const expires = Date.parse(result.receiver?.certificateExpiresAt ?? '')
      assert.ok(expires > Date.now() + 29 * DAY_MS && expires < Date.now() + 31 * DAY_MS)
    })

    it(`reports a receiver that asks for a client certificate over ${version}`, async () => {
      const asking = { requestCert: true, rejectUnauthorized: true }
      const tls = { minVersion: version, maxVersion: version, ...asking }
      await using receiver = await startTlsReceiver({ tls, talk: () => {} })
      const advice = version === 'TLSv1.3' ? /client certificate/ : /TLS handshake failed|client certificate/
      assertUnconfirmed(await sendTo(receiver.url), advice)
    })
  }

  for (const [what, said] of [
    ['HTTP', 'HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n'],
    ['SSH', 'SSH-2.0-OpenSSH_9.2\r\n'],
  ] as const)
    it(`refuses plain ${what}, and no event goes out in the clear`, async () => {
      let received = ''
      await using receiver = await startTcpReceiver((socket) => {
        socket.on('data', (chunk) => {
          received += chunk.toString('latin1')
        })
        socket.end(said)
      })
      const result = await sendTo(receiver.url)
      assertUnconfirmed(result, /does not speak TLS/)
      assert.doesNotMatch(received, /test_event|POST/)
      assert.equal(result.receiver?.certificateExpiresAt, null)
    })

  it('reports a connection that is closed during the handshake', async () => {
    await using receiver = await startTcpReceiver((socket) => void socket.once('data', () => socket.end()))
    const result = await sendTo(receiver.url)
    assertUnconfirmed(result, /closed the connection/)
    assert.notEqual(result.timings.connectMs, null)
    assert.equal(result.timings.tlsMs, null)
  })
})

describe('a test send that takes too long', () => {
  const results: Record<string, TestResult> = {}
  const receivers: { stop(): Promise<void> }[] = []

  before(async () => {
    const start = async (starting: Promise<Receiver>): Promise<string> => {
      const receiver = await starting
      receivers.push(receiver)
      return receiver.url
    }
    const blackhole = await startBlackhole()
    const slow = await startBlackhole()
    receivers.push(blackhole, slow)
    const elsewhere = await startTlsReceiver({ talk: answering(OK), host: '127.0.0.2', port: blackhole.port })
    receivers.push(elsewhere)
    const dripping = (head: string, drop: string) =>
      startTlsReceiver({
        talk: (socket) => {
          socket.write(head)
          const drip = setInterval(() => socket.write(drop), 50)
          socket.on('close', () => clearInterval(drip))
        },
      })
    const twoAddresses = {
      resolve: resolverWith(createResolution('127.0.0.1', '127.0.0.2')).resolve,
      checkAddress: ruleWith('127.0.0.1', '127.0.0.2'),
    }
    // Soon, since the machine may be busy when the SYN is sent again.
    setTimeout(slow.resume, 100)
    const sends: Record<string, Promise<TestResult>> = {
      connect: sendTo(`https://${RECEIVER_NAME}:${blackhole.port}/hook`),
      nextAddress: sendTo(`https://${RECEIVER_NAME}:${blackhole.port}/hook`, twoAddresses),
      // The lost SYN is sent again after a second. Nothing listens at the second address.
      slowAddress: sendTo(`https://${RECEIVER_NAME}:${slow.port}/hook`, twoAddresses),
      handshake: sendTo(await start(startTcpReceiver(() => {}))),
      silence: sendTo(await start(startTlsReceiver({ talk: () => {} }))),
      headers: sendTo(await start(dripping('HTTP/1.1 200 OK\r\n', 'X: y\r\n'))),
      statusLine: sendTo(await start(dripping('HTTP/1.1 200 O', 'K'))),
      dns: sendTo(`https://${RECEIVER_NAME}/`, { resolve: () => new Promise(() => {}) }),
      deafDns: sendTo(`https://${RECEIVER_NAME}/`, { resolve: createResolver({ servers: ['127.0.0.1:9'] }) }),
      failingDns: sendTo(`https://${RECEIVER_NAME}/`, { resolve: () => Promise.reject(new Error('broken')) }),
      everything: sendTo(await start(slowToBegin()), {
        resolve: () => later(2_600, createResolution('127.0.0.1')),
      }),
    }
    for (const [name, sending] of Object.entries(sends)) results[name] = await sending
    // Alone, since encrypting so much holds up the others' clocks.
    results.deaf = await senderFor()
      .send({
        url: await start(startTlsReceiver({ talk: (socket) => void socket.pause() })),
        // More than the buffers on the way hold
        vendorId: 'v'.repeat(32 * 1_024 * 1_024),
        signal: new AbortController().signal,
      })
      .then(({ result }) => result as TestResult)
  })
  after(() => Promise.all(receivers.map((receiver) => receiver.stop())))

  const later = <T>(delay_ms: number, value: T): Promise<T> =>
    new Promise((resolve) => setTimeout(resolve, delay_ms, value))
  const slowToBegin = () =>
    startTcpReceiver((socket) => {
      setTimeout(() => new TLSSocket(socket, { isServer: true, ...goodTls }).on('error', () => {}), 2_550)
    })
  // That each ended no later is what its reason says, which names the first deadline to be over.
  function endedBy(name: string, earliest_ms: number, advice: RegExp): TestResult {
    const result = results[name] ?? assert.fail(name)
    assertUnconfirmed(result, advice)
    assert.ok(result.durationMs >= earliest_ms, `${result.durationMs} ms`)
    return result
  }

  it('gives up connecting after 3 s', () => {
    const { receiver, timings } = endedBy('connect', 2_900, /did not accept a connection within 3 seconds/)
    assert.deepEqual([receiver, timings.connectMs], [null, null])
  })

  it('tries another address before it gives up connecting', () =>
    assert.equal(results.nextAddress?.receiver?.address, '127.0.0.2'))

  it('waits a second and more for the first of two addresses', () =>
    assert.equal(results.slowAddress?.receiver?.address, '127.0.0.1'))

  it('gives up the TLS handshake after 3 s', () => {
    const { receiver } = endedBy('handshake', 2_900, /did not finish the TLS handshake within 3 seconds/)
    assert.deepEqual(receiver, { address: '127.0.0.1', certificateExpiresAt: null })
  })

  it('gives up sending after 3 s', () => {
    const { log } = endedBy('deaf', 2_900, /did not read the event within 3 seconds/)
    assert.ok(!log.some((line) => line.startsWith('sent POST')))
  })

  for (const [name, what] of [
    ['silence', 'silence'],
    ['headers', 'header fields that never end'],
    ['statusLine', 'a status line that never ends'],
  ] as const)
    it(`gives up after 5 s of ${what}`, () => void endedBy(name, 4_900, /did not answer within 5 seconds/))

  it('gives up on DNS after 3 s, even if the resolver never returns', () => {
    endedBy('dns', 2_900, /DNS did not answer/)
    for (const name of ['deafDns', 'failingDns']) endedBy(name, 0, /DNS did not answer/)
  })

  it('gives up after 10 s in total', () => {
    const { timings } = endedBy('everything', 9_900, /cancelled after 10 seconds/)
    assert.notEqual(timings.tlsMs, null)
    assert.equal(timings.firstByteMs, null)
  })
})

describe('the timings of a test send', () => {
  it('measures a test send phase by phase', async () => {
    await using receiver = await startTcpReceiver((socket) => {
      setTimeout(() => {
        const secure = new TLSSocket(socket, { isServer: true, ...goodTls })
        secure.on('error', () => {})
        secure.once('data', () => setTimeout(() => secure.end(OK), 400))
      }, 300)
    })
    const resolve = () =>
      new Promise<Resolution>((resolve) => setTimeout(resolve, 200, createResolution('127.0.0.1')))
    const result = await sendTo(receiver.url, { resolve })
    const { dnsMs, connectMs, tlsMs, firstByteMs } = result.timings
    const phases = [dnsMs, connectMs, tlsMs, firstByteMs].map(Number)
    for (const [at, least_ms] of [200, 0, 300, 400].entries())
      assert.ok(Number(phases[at]) >= least_ms - 20, phases.join())
    // Each is rounded, and none has time of another.
    const sum_ms = phases.reduce((sum, phase) => sum + phase)
    assert.ok(sum_ms <= result.durationMs + 4, `${phases} of ${result.durationMs} ms`)
  })

  it('reports no DNS phase for an IP literal, and asks no DNS', async () => {
    await using receiver = await startTlsReceiver({ talk: answering(OK) })
    const { resolve, names } = resolverWith(createResolution('127.0.0.1'))
    const result = await sendTo(`https://127.0.0.1:${receiver.port}/`, { resolve })
    assertUnconfirmed(result, /is for hooks\.acme-receiver\.com, not for 127\.0\.0\.1/)
    assert.deepEqual([result.timings.dnsMs, names], [null, []])
    assert.notEqual(result.timings.connectMs, null)
  })
})
