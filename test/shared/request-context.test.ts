import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type IncomingMessage, request } from 'node:http'
import { pino } from 'pino'
import { createContextReader } from '#shared/http/request-context.ts'
import { commonShape } from '#shared/process/config.ts'
import { listen } from '#shared/process/http-server.ts'
import {
  newClientSecret,
  newInvitationToken,
  newPasswordResetToken,
  newSessionToken,
} from '../../apps/api/accounts/new-ids.ts'

const TRACE_ID = '4bf92f3577b34da6a3ce929d0e0e4736'
const PEER = '127.0.0.1'
const VALID = `00-${TRACE_ID}-00f067aa0ba902b7-01`

/** Reads the context of a request with these fields, sent from 127.0.0.1. */
async function readContext(
  headers: Record<string, string>,
  proxies = '127.0.0.1, 10.0.0.0/8, 2001:db8:ffff::/48',
  proxyHeader?: string,
) {
  const events: string[] = []
  const log = pino({}, { write: (line: string) => void events.push(JSON.parse(line).event) })
  const TRUSTED_PROXIES = commonShape.TRUSTED_PROXIES.parse(proxies)
  const TRUSTED_PROXY_HEADER = commonShape.TRUSTED_PROXY_HEADER.parse(proxyHeader)
  const read = createContextReader({ TRUSTED_PROXIES, TRUSTED_PROXY_HEADER }, log)
  const server = createServer((_request, response) => void response.end())
  request({ port: await listen(server, { host: '127.0.0.1', port: 0 }), headers }).end()
  const [incoming] = (await once(server, 'request')) as [IncomingMessage]
  const [context] = [read(incoming), read(incoming)]
  server.closeAllConnections()
  server.close()
  return { ...context, events }
}

/** Asserts which address a service reads of a request, by the header that it has, with these warnings. */
async function assertAddress(headers: Record<string, string>, address: string, ...warnings: string[]) {
  const header = 'forwarded' in headers ? 'Forwarded' : undefined
  const { clientAddress, events } = await readContext(headers, undefined, header)
  assert.deepEqual([clientAddress, events], [address, warnings])
}

describe('the address of a caller', () => {
  for (const [sent, address] of [
    ['203.0.113.8', '203.0.113.8'],
    ['203.0.113.8:51234', '203.0.113.8'],
    ['2001:DB8:0:0::7', '2001:db8::7'],
    ['"[2001:db8::7]:443"', '2001:db8::7'],
    ['::FFFF:cb00:7108', '203.0.113.8'],
    ['[::ffff:203.0.113.8]:51234', '203.0.113.8'],
    ['[fe80::1%25eth0]:80', 'fe80::1'],
    ['192.0.2.1, 203.0.113.8:1 ,\t10.0.0.1:2, 127.0.0.1', '203.0.113.8'],
    ['203.0.113.8, [2001:db8:ffff::1]:80', '203.0.113.8'],
    ['what a caller wrote, unknown, 203.0.113.8', '203.0.113.8'],
    ['10.0.0.1', '127.0.0.1'],
  ] as const)
    it(`is read from X-Forwarded-For: ${sent}`, () => assertAddress({ 'x-forwarded-for': sent }, address))

  for (const sent of [
    '203.0.113.8, unknown',
    // An empty hop is a caller that the proxy could not name, not one that is further left.
    '203.0.113.8,',
    '203.0.113.8, , 10.0.0.1',
    '203.0.113.8, 010.0.0.1',
    '203.0.113.8, 2001:db8::7:1:2:3:4:5:6:443',
    '203.0.113.8, [2001:db8::7',
    '203.0.113.8 203.0.113.9',
  ])
    it(`is the proxy’s, with one warning, if that sends X-Forwarded-For: ${sent}`, () =>
      assertAddress({ 'x-forwarded-for': sent }, PEER, 'proxy.unreadable'))

  for (const [sent, address] of [
    ['For="[2001:db8::7]:4711"', '2001:db8::7'],
    ['for=203.0.113.8:4711;proto=https;by=10.0.0.2', '203.0.113.8'],
    ['by="_a" ; for=203.0.113.8 ; host=api.test:443;', '203.0.113.8'],
    ['for=192.0.2.1, for=203.0.113.8;proto=http, for=10.0.0.1', '203.0.113.8'],
    // A quote that a caller opened ends at the next comma, so it cannot hide what a proxy adds.
    ['for="192.0.2.1, for=203.0.113.8', '203.0.113.8'],
    ['for="_secret, for=203.0.113.8;by="_a"', '203.0.113.8'],
  ] as const)
    it(`is read from Forwarded: ${sent}`, () => assertAddress({ forwarded: sent }, address))

  for (const sent of [
    'for=_hidden',
    'proto=https',
    '203.0.113.8',
    'for=203.0.113.8;by',
    // The ends of a Host that a proxy wrote in quotes.
    'for=192.0.2.1;host="x,for=203.0.113.8;y="',
    'for=192.0.2.1;host="x\\",for=203.0.113.8;y=\\"z"',
    'host="x;for=203.0.113.8;y="',
  ])
    it(`is the proxy’s, with one warning, if that sends Forwarded: ${sent}`, () =>
      assertAddress({ forwarded: sent }, PEER, 'proxy.unreadable'))

  for (const [setting, written, other] of [
    ['X-Forwarded-For', '203.0.113.8', { forwarded: 'for=192.0.2.1' }],
    ['Forwarded', 'for=203.0.113.8', { 'x-forwarded-for': '192.0.2.1' }],
  ] as const) {
    it(`is never read from the header that is not ${setting}, which a caller can send through`, async () => {
      const both = await readContext({ ...other, [setting]: written }, undefined, setting)
      assert.deepEqual([both.clientAddress, both.events], ['203.0.113.8', []])
      const alone = await readContext(other, undefined, setting)
      assert.deepEqual([alone.clientAddress, alone.events], [PEER, ['proxy.unreadable']])
    })

    it(`is the peer’s, with one warning, if ${setting} comes from a peer that is no proxy`, async () => {
      const { clientAddress, events } = await readContext({ [setting]: written }, '', setting)
      assert.deepEqual([clientAddress, events], [PEER, ['proxy.untrusted']])
    })
  }

  it('is the proxy’s, without a warning, in a request of its own', () => assertAddress({}, PEER))
})

describe('the id of a request', () => {
  for (const [sent, id] of [
    ['order-42.retry_1', 'order-42.retry_1'],
    ['x'.repeat(65), undefined],
    [newClientSecret(), undefined],
    [newSessionToken(), undefined],
    [newInvitationToken(), undefined],
    [newPasswordResetToken(), undefined],
  ] as const)
    it(`is ${id ?? 'not'} the caller's own ${sent.slice(0, 4)}…`, async () => {
      const { requestId, callerRequestId } = await readContext({ 'x-request-id': sent }, '')
      assert.notEqual(requestId, sent)
      assert.equal(callerRequestId, id)
    })
})

describe('the trace id of a request', () => {
  const readTraceId = async (traceparent: string, proxies?: string) =>
    (await readContext({ traceparent }, proxies)).traceId

  it('takes the trace id from a trusted proxy’s traceparent', async () =>
    assert.equal(await readTraceId(VALID), TRACE_ID))

  it('takes no trace id from anyone else', async () => assert.equal(await readTraceId(VALID, ''), undefined))

  it('takes the trace id from a later version, which may say more', async () =>
    assert.equal(await readTraceId(`cc-${TRACE_ID}-00f067aa0ba902b7-01-what-comes`), TRACE_ID))

  for (const [what, header] of [
    ['more than version 00 has', `${VALID}-more`],
    ['the version that is none', VALID.replace(/^00/, 'ff')],
    ['a trace id of zeros', VALID.replace(TRACE_ID, '0'.repeat(32))],
    ['a parent id of zeros', VALID.replace('00f067aa0ba902b7', '0'.repeat(16))],
    ['too few digits', VALID.replace('4bf9', '4bf')],
    ['capital letters', VALID.toUpperCase()],
    ['an attempt to forge a line', `${VALID} "event":"token.issued"`],
    ['two of them', `${VALID}, ${VALID}`],
  ] as const)
    it(`reads no trace id from ${what}`, async () => assert.equal(await readTraceId(header), undefined))
})
