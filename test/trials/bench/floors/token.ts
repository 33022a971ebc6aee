/*
 * The least that could answer a token request: node:http, the form parsed, the secret hashed, the same
 * claims signed with ES256 by node:crypto. No client store, no revocation, no limit, no log.
 */
import { createHash, generateKeyPairSync, randomUUID, sign } from 'node:crypto'
import { createServer } from 'node:http'
import { joseSignature } from '../../../../apps/auth/token-key.ts'

const { PORT } = process.env
const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const header = Buffer.from(JSON.stringify({ typ: 'at+jwt', alg: 'ES256', kid: 'floor' })).toString(
  'base64url',
)
const origin = 'http://127.0.0.1'

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
    createHash('sha256')
      .update(form.get('client_secret') ?? '')
      .digest()
    const about = { token_type: 'Bearer', expires_in: 900, scope }
    const answer = JSON.stringify({ access_token: token(form.get('client_id') ?? '', scope), ...about })
    response.writeHead(200, {
      'content-type': 'application/json',
      'cache-control': 'no-store',
      'content-length': Buffer.byteLength(answer),
    })
    response.end(answer)
  })
}).listen(Number(PORT), '127.0.0.1')
process.once('disconnect', () => process.exit())
