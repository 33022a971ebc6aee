import type { IncomingMessage } from 'node:http'
import { BlockList } from 'node:net'
import { pino } from 'pino'
import { z } from 'zod'
import { readBearer } from '#shared/access-tokens/bearer.ts'
import { matchesNone } from '#shared/http/entity-tag.ts'
import { createContextReader } from '#shared/http/request-context.ts'
import { displayBody, displayLines } from '../../apps/api/callbacks/receiver-text.ts'
import { CreationHeaders } from '../../apps/api/clients/create-client.ts'
import { createAddressRule } from '../../apps/api/guarded-fetch/address-verdict.ts'
import { checkPublicUrl } from '../../apps/api/guarded-fetch/url-verdict.ts'
import { parseQuery } from '../../apps/api/http/input.ts'
import { pageParameters } from '../../apps/api/http/page.ts'
import { createSessionCookie } from '../../apps/api/sessions/cookie.ts'
import { credentialsInQuery } from '../../apps/auth/client-request.ts'
import { readCredentials } from '../../apps/auth/credentials.ts'
import { parseForm } from '../../apps/auth/form.ts'
import { assertLinear, SHAPES } from './shapes.ts'

const KIB = 1_024
const HEADER_CHARACTERS = 16 * KIB
const TRUSTED_PROXIES = new BlockList()
TRUSTED_PROXIES.addAddress('127.0.0.1')
const [readContext, readForwarded] = (['X-Forwarded-For', 'Forwarded'] as const).map((header) =>
  createContextReader({ TRUSTED_PROXIES, TRUSTED_PROXY_HEADER: header }, pino({ level: 'silent' })),
) as [ContextReader, ContextReader]

type ContextReader = ReturnType<typeof createContextReader>

const requestWith = (headers: Record<string, string>) => {
  const rawHeaders = Object.entries(headers).flat()
  const request = { headers, headersDistinct: {}, rawHeaders, socket: { remoteAddress: '127.0.0.1' } }
  return request as unknown as IncomingMessage
}
const authorized = (authorization: string) => requestWith({ authorization })
const encode = (text: string, encoding: 'base64' | 'base64url') => Buffer.from(text).toString(encoding)

const rule = createAddressRule()
const cookie = createSessionCookie({ baseUrl: 'https://api.test' })
const fields = new Set(['grant_type', 'client_id', 'client_secret', 'scope', 'resource'])
const page = z.strictObject(pageParameters(z.tuple([z.string(), z.string()])))
const ignoring = (read: () => unknown) => {
  try {
    read()
  } catch {
    // A refusal: only the time counts.
  }
}
/**
 * Every function that reads what a stranger sent, with the most characters that reach it. bodies.test.ts has
 * JSON bodies.
 */
const READERS: [what: string, limit: number, read: (input: string) => unknown][] = [
  ["what is shown of a receiver's answer", 16 * KIB, displayLines],
  [
    'a body that was cut, and its content type',
    16 * KIB,
    (input) => {
      const body = { bytes: Buffer.from(input), whole: false, contentType: input, contentEncoding: undefined }
      displayBody(body)
    },
  ],
  ['a callback URL', 64 * KIB, (input) => checkPublicUrl(input, rule)],
  ['the host of a callback URL', 2_000, (input) => checkPublicUrl(`https://${input}/`, rule)],
  ['the query of a callback URL', 2_000, (input) => checkPublicUrl(`https://acme.com/?${input}`, rule)],
  ['the form of a token request', 8 * KIB, (input) => parseForm(input, fields)],
  ['the scope of a token request', 8 * KIB, (input) => parseForm(`scope=${input}`, fields)],
  ['the query of a token request', HEADER_CHARACTERS, (input) => credentialsInQuery(input, fields)],
  [
    'Basic credentials',
    HEADER_CHARACTERS,
    (input) => readCredentials(authorized(`Basic ${input}`), new Map()),
  ],
  [
    'decoded Basic credentials',
    HEADER_CHARACTERS / 2,
    (input) => readCredentials(authorized(`Basic ${encode(input, 'base64')}`), new Map()),
  ],
  ['a bearer token', HEADER_CHARACTERS, (input) => readBearer(authorized(`Bearer ${input}`))],
  ['an Authorization header field', HEADER_CHARACTERS, (input) => readBearer(authorized(input))],
  [
    'X-Forwarded-For and X-Request-Id',
    HEADER_CHARACTERS,
    (input) => readContext(requestWith({ 'x-forwarded-for': input, 'x-request-id': input })),
  ],
  ['Forwarded', HEADER_CHARACTERS, (input) => readForwarded(requestWith({ forwarded: `for=${input}` }))],
  ['If-None-Match', HEADER_CHARACTERS, (input) => matchesNone(input, '"tag"')],
  ['Idempotency-Key', HEADER_CHARACTERS, (input) => CreationHeaders.safeParse({ 'Idempotency-Key': input })],
  ['a query', HEADER_CHARACTERS, (input) => ignoring(() => parseQuery(page, input))],
  ['a cursor', HEADER_CHARACTERS, (input) => ignoring(() => parseQuery(page, `cursor=${input}`))],
  [
    'what a cursor holds',
    375,
    (input) => ignoring(() => parseQuery(page, `cursor=${encode(input, 'base64url')}`)),
  ],
  [
    'a session cookie',
    HEADER_CHARACTERS,
    (input) => cookie.read({ get: () => `a=b; __Host-session=${input}` } as never),
  ],
]

describe('the time that hostile input takes is bounded, and grows no faster than the input', () => {
  for (const [what, limit, read] of READERS)
    it(what, () => {
      for (const shape of SHAPES) assertLinear(read, shape, limit)
    })
})
