import { strict as assert } from 'node:assert'
import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type JsonWebKey,
  sign,
  verify,
} from 'node:crypto'
import type { JWK } from 'jose'
import {
  detectAlgorithm,
  isPrivateKey,
  jsonIn,
  makeKeyPair,
} from '../../apps/workspace/src/clients/key-pair.ts'
import { createCertificate } from '../support/certificates.ts'

const made = {
  ES256: generateKeyPairSync('ec', { namedCurve: 'P-256' }),
  EdDSA: generateKeyPairSync('ed25519'),
  RS256: generateKeyPairSync('rsa', { modulusLength: 2048 }),
}
const p256 = made.ES256
const authority = createCertificate({ commonName: 'an authority', isAuthority: true })

const pem = (key: typeof p256.publicKey) => key.export({ type: 'spki', format: 'pem' }).toString()
const jwk = (key: typeof p256.publicKey) => key.export({ format: 'jwk' }) as JWK

describe('workspace: key pairs', () => {
  it('makes a P-256 key pair whose private key is a PEM that other software reads', async () => {
    const { publicKey, privateKey } = await makeKeyPair()
    const read = createPrivateKey(privateKey)
    assert.equal(read.export({ type: 'pkcs8', format: 'pem' }), privateKey)
    const data = Buffer.from('any')
    const key = createPublicKey({ key: publicKey as JsonWebKey, format: 'jwk' })
    assert.ok(verify('sha256', data, key, sign('sha256', data, read)))
    assert.deepEqual(Object.keys(publicKey), ['kty', 'crv', 'x', 'y'])
  })

  for (const [algorithm, keys] of Object.entries(made)) {
    const { publicKey } = keys
    it(`signs by ${algorithm} with a key that was pasted as PEM or as a JWK, and sends it as the API takes it`, () => {
      const annotated = { ...jwk(publicKey), kid: 'mine' }
      assert.equal(detectAlgorithm(pem(publicKey)), algorithm)
      assert.equal(detectAlgorithm(JSON.stringify(annotated, null, 2)), algorithm)
      const certified = createCertificate({ commonName: 'a', issuer: authority, keys }).pem
      assert.equal(detectAlgorithm(certified + authority.pem), algorithm)
      for (const text of [certified, pem(publicKey), JSON.stringify(jwk(publicKey), null, 2)])
        assert.equal(isPrivateKey(text), false)
      assert.equal(jsonIn(pem(publicKey)), pem(publicKey))
      assert.deepEqual(jsonIn(JSON.stringify(annotated)), annotated)
    })
  }

  it('signs by RS256 with a key in PKCS #1, and reads text that is no PEM without an error', () => {
    const pkcs1 = made.RS256.publicKey.export({ type: 'pkcs1', format: 'pem' }).toString()
    assert.equal(detectAlgorithm(pkcs1), 'RS256')
    for (const text of ['', '-----BEGIN PUBLIC KEY-----\nA\n-----END', '{']) detectAlgorithm(text)
  })

  const privateTexts: Record<string, string> = {
    'PKCS #8': p256.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    SEC1: p256.privateKey.export({ type: 'sec1', format: 'pem' }).toString(),
    'PKCS #1': made.RS256.privateKey.export({ type: 'pkcs1', format: 'pem' }).toString(),
    'encrypted PKCS #8': p256.privateKey
      .export({ type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase: 'x' })
      .toString(),
    OpenSSH: '-----BEGIN OPENSSH PRIVATE KEY-----\nb3Bl\n-----END OPENSSH PRIVATE KEY-----\n',
    'JWK, P-256': JSON.stringify(jwk(p256.privateKey as never), null, 1),
    'JWK, Ed25519': JSON.stringify(jwk(made.EdDSA.privateKey as never)),
    'JWK, RSA': JSON.stringify(jwk(made.RS256.privateKey as never)),
    'JWK, shared': '{"kty":"oct", "k" : "c2VjcmV0"}',
    'set of JWKs': JSON.stringify({ keys: [jwk(p256.privateKey as never)] }),
    'half of a JWK': '"kty":"EC","d":"AAAA"',
    'public key with the private one after it':
      pem(p256.publicKey) + p256.privateKey.export({ type: 'pkcs8', format: 'pem' }),
  }
  for (const [name, text] of Object.entries(privateTexts)) {
    it(`recognizes a private key: ${name}`, () => assert.equal(isPrivateKey(text), true))
  }
})
