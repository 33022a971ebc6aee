/*
 * The least that could answer a token request: node:http, the form parsed, the secret hashed or the signature
 * of the assertion verified, the same claims signed with ES256 by node:crypto. No claim is looked at; no
 * client store, no memory of used ids, no revocation, no limit, no log.
 */
import {
  createHash,
  createPublicKey,
  generateKeyPairSync,
  type JsonWebKey,
  randomUUID,
  sign,
  verify,
} from 'node:crypto'
import { createServer } from 'node:http'
import { joseSignature } from '../../../../apps/auth/token-key.ts'

const { BENCH_PUBLIC_KEY, PORT } = process.env
const publicKey =
  BENCH_PUBLIC_KEY && createPublicKey({ key: JSON.parse(BENCH_PUBLIC_KEY) as JsonWebKey, format: 'jwk' })
const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const header = Buffer.from(JSON.stringify({ typ: 'at+jwt', alg: 'ES256', kid: 'floor' })).toString(
  'base64url',
)
const origin = 'http://127.0.0.1'

/** Returns the client of a request, if its assertion was signed. */
function authenticate(form: URLSearchParams): string | undefined {
  if (!publicKey) {
    createHash('sha256')
      .update(form.get('client_secret') ?? '')
      .digest()
    return form.get('client_id') ?? ''
  }
  const [head, payload = '', signature = ''] = (form.get('client_assertion') ?? '').split('.')
  const isSigned = verify(
    'sha256',
    Buffer.from(`${head}.${payload}`),
    { key: publicKey, dsaEncoding: 'ieee-p1363' },
    Buffer.from(signature, 'base64url'),
  )
  return isSigned ? JSON.parse(Buffer.from(payload, 'base64url').toString()).sub : undefined
}

function token(clientId: string, scope: string): string {
  const iat = Math.floor(Date.now() / 1_000)
  const about = { iss: origin, aud: origin, sub: clientId, client_id: clientId, vendor_id: 'ven_bench' }
  const claims = JSON.stringify({ ...about, scope, iat, exp: iat + 900, jti: randomUUID() })
  const input = `${header}.${Buffer.from(claims).toString('base64url')}`
  // Node signs DER twice as fast as the form that JWS wants (RFC 7518 §3.4), so the floor converts.
  return `${input}.${joseSignature(sign('sha256', Buffer.from(input), privateKey)).toString('base64url')}`
}

createServer((request, response) => {
  let body = ''
  request.setEncoding('utf8')
  request.on('data', (chunk: string) => {
    body += chunk
  })
  request.on('end', () => {
    const form = new URLSearchParams(body)
    const scope = form.get('scope') ?? ''
    const clientId = authenticate(form)
    const about = { token_type: 'Bearer', expires_in: 900, scope }
    const answer = JSON.stringify(clientId ? { access_token: token(clientId, scope), ...about } : {})
    response.writeHead(clientId ? 200 : 401, {
      'content-type': 'application/json',
      'cache-control': 'no-store',
      'content-length': Buffer.byteLength(answer),
    })
    response.end(answer)
  })
}).listen(Number(PORT), '127.0.0.1')
process.once('disconnect', () => process.exit())
