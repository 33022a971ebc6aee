/*
 * The least that could answer a token request: node:http, the form parsed, the secret hashed, the same claims
 * signed with ES256 by node:crypto. No client store, no revocation, no limit, no log.
 */
import { createHash, generateKeyPairSync, randomUUID, sign } from 'node:crypto'
import { createServer } from 'node:http'

const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const header = Buffer.from(JSON.stringify({ typ: 'at+jwt', alg: 'ES256', kid: 'floor' })).toString(
  'base64url',
)
const origin = 'http://127.0.0.1'

function token(clientId: string, scope: string): string {
  const now = Math.floor(Date.now() / 1_000)
  const claims = {
    iss: origin,
    aud: origin,
    sub: clientId,
    client_id: clientId,
    vendor_id: 'ven_bench',
    scope,
    iat: now,
    exp: now + 900,
    jti: randomUUID(),
  }
  const input = `${header}.${Buffer.from(JSON.stringify(claims)).toString('base64url')}`
  return `${input}.${concatenated(sign('sha256', Buffer.from(input), privateKey)).toString('base64url')}`
}

/** Node signs DER twice as fast as it signs the form that JWS wants (RFC 7518 §3.4), so the floor converts. */
function concatenated(der: Buffer): Buffer {
  const raw = Buffer.alloc(64)
  const rLength = der[3] as number
  const r = der.subarray(4, 4 + rLength)
  const s = der.subarray(6 + rLength)
  r.subarray(-32).copy(raw, 32 - Math.min(32, r.length))
  s.subarray(-32).copy(raw, 64 - Math.min(32, s.length))
  return raw
}

createServer((request, response) => {
  let body = ''
  request.setEncoding('utf8')
  request.on('data', (chunk: string) => {
    body += chunk
  })
  request.on('end', () => {
    const form = new URLSearchParams(body)
    createHash('sha256')
      .update(form.get('client_secret') ?? '')
      .digest()
    const scope = form.get('scope') ?? ''
    const answer = JSON.stringify({
      access_token: token(form.get('client_id') ?? '', scope),
      token_type: 'Bearer',
      expires_in: 900,
      scope,
    })
    response.writeHead(200, {
      'content-type': 'application/json',
      'cache-control': 'no-store',
      'content-length': Buffer.byteLength(answer),
    })
    response.end(answer)
  })
}).listen(Number(process.env.PORT), '127.0.0.1')
process.once('disconnect', () => process.exit())
