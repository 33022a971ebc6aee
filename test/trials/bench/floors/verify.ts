/*
 * What it takes to verify a signature and nothing else: answers with the CPU seconds that each of the given forged
 * tokens took, by node:crypto.
 */
import { createPublicKey, type JsonWebKey, verify } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'

const { BENCH_TOKENS = '', BENCH_ISSUER = '', PORT } = process.env
const tokens: string[] = JSON.parse(readFileSync(BENCH_TOKENS, 'utf8'))
const { keys } = (await (await fetch(`${BENCH_ISSUER}/v1/oauth/jwks`)).json()) as { keys: JsonWebKey[] }
const key = createPublicKey({ key: keys[0] as JsonWebKey, format: 'jwk' })

function verifyAll(): number {
  const before = process.cpuUsage()
  for (const token of tokens) {
    const end = token.lastIndexOf('.')
    const signature = Buffer.from(token.slice(end + 1), 'base64url')
    const input = Buffer.from(token.slice(0, end))
    if (verify('sha256', input, { key, dsaEncoding: 'ieee-p1363' }, signature))
      throw new Error('a forged token has a good signature')
  }
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1e6 / tokens.length
}

createServer((request, response) => {
  response.end(request.url === '/verify' ? String(verifyAll()) : '')
}).listen(Number(PORT), '127.0.0.1')
process.once('disconnect', () => process.exit())
