import { strict as assert } from 'node:assert'
import { createPrivateKey, createPublicKey, generateKeyPairSync, sign, verify } from 'node:crypto'
import { calculateJwkThumbprint, type JWK } from 'jose'
import { isPrivateKey, makeKeyPair, readPublicKey } from '../../apps/workspace/src/clients/key-pair.ts'

const made = {
  'P-256': generateKeyPairSync('ec', { namedCurve: 'P-256' }),
  Ed25519: generateKeyPairSync('ed25519'),
  'RSA of 2,048 bits': generateKeyPairSync('rsa', { modulusLength: 2048 }),
}
const short = generateKeyPairSync('rsa', { modulusLength: 1024 })
const p256 = made['P-256']

const pem = (key: typeof p256.publicKey) => key.export({ type: 'spki', format: 'pem' }).toString()
const jwk = (key: typeof p256.publicKey) => key.export({ format: 'jwk' }) as JWK

describe('workspace: key pairs', () => {
  it('makes a P-256 key pair whose private key is a PEM that other software reads', async () => {
    const { publicKey, privateKey } = await makeKeyPair()
    const read = createPrivateKey(privateKey)
    assert.equal(read.export({ type: 'pkcs8', format: 'pem' }), privateKey)
    const data = Buffer.from('any')
    const key = createPublicKey({ key: { ...publicKey.jwk }, format: 'jwk' })
    assert.ok(verify('sha256', data, key, sign('sha256', data, read)))
    assert.deepEqual(Object.keys(publicKey.jwk), ['crv', 'kty', 'x', 'y'])
    assert.equal(publicKey.algorithm, 'ES256')
  })

  for (const [name, { publicKey }] of Object.entries(made)) {
    it(`reads a public ${name} key as PEM and as a JWK, and names it by the thumbprint of RFC 7638`, async () => {
      const thumbprint = await calculateJwkThumbprint(jwk(publicKey))
      const annotated = { ...jwk(publicKey), kid: 'mine', use: 'enc', key_ops: ['encrypt'], alg: 'RSA-OAEP' }
      for (const text of [pem(publicKey), ` \n${pem(publicKey)}\n`, JSON.stringify(annotated, null, 2)]) {
        const read = await readPublicKey(text)
        assert.ok('thumbprint' in read, JSON.stringify(read))
        assert.equal(read.thumbprint, thumbprint)
        assert.deepEqual({ ...read.jwk }, jwk(publicKey))
      }
    })
  }

  const privateTexts: Record<string, string> = {
    'PKCS #8': p256.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    SEC1: p256.privateKey.export({ type: 'sec1', format: 'pem' }).toString(),
    'PKCS #1': made['RSA of 2,048 bits'].privateKey.export({ type: 'pkcs1', format: 'pem' }).toString(),
    'encrypted PKCS #8': p256.privateKey
      .export({ type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase: 'x' })
      .toString(),
    OpenSSH: '-----BEGIN OPENSSH PRIVATE KEY-----\nb3Bl\n-----END OPENSSH PRIVATE KEY-----\n',
    'JWK, P-256': JSON.stringify(jwk(p256.privateKey as never), null, 1),
    'JWK, Ed25519': JSON.stringify(jwk(made.Ed25519.privateKey as never)),
    'JWK, RSA': JSON.stringify(jwk(made['RSA of 2,048 bits'].privateKey as never)),
    'JWK, shared': '{"kty":"oct", "k" : "c2VjcmV0"}',
    'set of JWKs': JSON.stringify({ keys: [jwk(p256.privateKey as never)] }),
    'half of a JWK': '"kty":"EC","d":"AAAA"',
    'public key with the private one after it':
      pem(p256.publicKey) + p256.privateKey.export({ type: 'pkcs8', format: 'pem' }),
  }
  for (const [name, text] of Object.entries(privateTexts)) {
    it(`recognizes a private key: ${name}`, async () => {
      assert.equal(isPrivateKey(text), true)
      assert.deepEqual(await readPublicKey(text), {
        refused: 'This is a private key. Paste the public one.',
      })
    })
  }

  const p384 = generateKeyPairSync('ec', { namedCurve: 'P-384' }).publicKey
  const refused: [name: string, text: string, says: RegExp][] = [
    ['nothing', ' \n', /^Paste the public key\.$/],
    ['an RSA key of 1,024 bits, PEM', pem(short.publicKey), /^This RSA key has 1,024 bits\./],
    ['an RSA key of 1,024 bits, JWK', JSON.stringify(jwk(short.publicKey)), /^This RSA key has 1,024 bits\./],
    ['P-384, PEM', pem(p384), /^This is not a public key that can be used here\./],
    ['P-384, JWK', JSON.stringify(jwk(p384)), /^This is not/],
    ['a point off the curve', JSON.stringify({ ...jwk(p256.publicKey), y: 'A'.repeat(43) }), /^This is not/],
    ['a JWK without its curve', JSON.stringify({ kty: 'EC', x: 'AA', y: 'AA' }), /^This is not/],
    ['JSON that ends early', '{"kty":"EC"', /^This is not/],
    ['a set', JSON.stringify({ keys: [jwk(p256.publicKey)] }), /^This is not/],
    ['a certificate', '-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----', /^This is not/],
    ['an SSH key', 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI me@here', /^This is not/],
    ['base64 of the wrong length', '-----BEGIN PUBLIC KEY-----\nA\n-----END PUBLIC KEY-----', /^This is not/],
    ['a hundred megabytes', 'A'.repeat(100_000_000), /^This is not/],
  ]
  for (const [name, text, says] of refused) {
    it(`refuses ${name}`, async () => {
      const read = await readPublicKey(text)
      assert.ok('refused' in read)
      assert.match(read.refused, says)
    })
  }
})
