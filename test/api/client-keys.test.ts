import assert from 'node:assert/strict'
import { createHash, generateKeyPairSync, type KeyPairKeyObjectResult } from 'node:crypto'
import { calculateJwkThumbprint, type JWK } from 'jose'
import { freshOwner, sharedApi } from '../support/api.ts'
import { createCertificate } from '../support/certificates.ts'
import { assertInvalid } from '../support/problem.ts'
import { authority } from '../support/receivers.ts'

const VALID = { name: 'Warehouse', scopes: ['analytics:read'] }

const RSA_SIZE = { modulusLength: 2_048 }
const pairs = {
  EC: generateKeyPairSync('ec', { namedCurve: 'P-256' }),
  OKP: generateKeyPairSync('ed25519'),
  RSA: generateKeyPairSync('rsa', RSA_SIZE),
}
const ec = pairs.EC.publicKey.export({ format: 'jwk' })
const ed = pairs.OKP.publicKey.export({ format: 'jwk' })
const rsa = pairs.RSA.publicKey.export({ format: 'jwk' })

/** A client's certificate with the public key of a pair. */
const certificate = (keys: KeyPairKeyObjectResult, validTo?: Date): string =>
  createCertificate({ commonName: 'a client', issuer: authority, keys, ...(validTo && { validTo }) }).pem
const PRIVATE_PEMS: Record<string, string> = {
  'PKCS #8': pairs.EC.privateKey.export({ type: 'pkcs8', format: 'pem' }) as string,
  SEC1: pairs.EC.privateKey.export({ type: 'sec1', format: 'pem' }) as string,
  'PKCS #1': pairs.RSA.privateKey.export({ type: 'pkcs1', format: 'pem' }) as string,
  'PKCS #8 after a certificate':
    createCertificate({ commonName: 'a' }).pem + pairs.EC.privateKey.export({ type: 'pkcs8', format: 'pem' }),
}

describe('POST /v1/vendor/{vendor_id}/oauth-clients', () => {
  const api = sharedApi()
  const owner = freshOwner(api)

  const create = (body: object, key?: string) =>
    owner.request('POST', 'oauth-clients', {
      body: { ...VALID, ...body },
      headers: key === undefined ? {} : { 'idempotency-key': key },
    })
  const stored = () => api.db('oauth_clients').where({ vendor_id: owner.vendorId })
  const activity = () => api.db('activity').where({ vendor_id: owner.vendorId })
  async function assertNothingStored(): Promise<void> {
    const keys = await api.db('client_creation_keys').where({ vendor_id: owner.vendorId })
    assert.deepEqual([await stored(), await activity(), keys], [[], [], []])
  }

  describe('publicKey', () => {
    for (const [what, publicKey] of Object.entries({ EC: ec, OKP: ed, RSA: rsa }))
      it(`creates a client that has an ${what} key and no secret`, async () => {
        const response = await create({ publicKey })
        assert.equal(response.status, 201, response.text)
        const { clientId, clientSecret, secretHint, ...client } = response.json
        const keyThumbprint = await calculateJwkThumbprint(publicKey as JWK)
        assert.partialDeepStrictEqual(client, { authMethod: 'private_key_jwt', keyThumbprint })
        const [{ public_key, secret_hash }] = await stored()
        assert.deepEqual([public_key, clientSecret, secretHint, secret_hash], [publicKey, null, null, null])
        assert.deepEqual((await activity())[0].detail, { ...VALID, keyThumbprint })
        const read = await owner.request('GET', `oauth-clients/${clientId}`)
        assert.equal(read.json.keyThumbprint, keyThumbprint)
      })

    const PUBLIC_PEMS: Record<string, [pem: string, kind: keyof typeof pairs]> = {
      SubjectPublicKeyInfo: [`\n ${pairs.OKP.publicKey.export({ type: 'spki', format: 'pem' })}\n`, 'OKP'],
      'PKCS #1': [String(pairs.RSA.publicKey.export({ type: 'pkcs1', format: 'pem' })), 'RSA'],
      'a certificate that has expired': [certificate(pairs.EC, new Date('2020-01-01')), 'EC'],
      'a certificate with that of its authority': [certificate(pairs.RSA) + authority.pem, 'RSA'],
    }
    for (const [what, [pem, kind]] of Object.entries(PUBLIC_PEMS))
      it(`takes the key in ${what}`, async () => {
        const response = await create({ publicKey: pem.replaceAll('\n', '\r\n') })
        assert.equal(response.status, 201, response.text)
        const [row] = await stored()
        assert.deepEqual(row.public_key, pairs[kind].publicKey.export({ format: 'jwk' }))
      })

    for (const [what, pem] of Object.entries(PRIVATE_PEMS))
      it(`refuses a private key in ${what}, and stores, logs and repeats nothing of it`, async () => {
        const response = await create({ publicKey: pem }, 'k1')
        assertInvalid(response, '/publicKey')
        assert.match(response.json.errors[0].detail, /^is secret .* destroy it, create a new key pair/)
        for (const line of pem.split('\n').filter((each) => /^[\w+/=]{16,}$/.test(each)))
          assert.ok(!response.text.includes(line) && !api.logLines.join('').includes(line), line)
        await assertNothingStored()
      })

    it('keeps only the members that make the key, in canonical form', async () => {
      const named = { kid: 'k1', use: 'sig', alg: 'ES256', x5u: 'https://a.example' }
      assert.equal((await create({ publicKey: { ...named, ...ec } })).status, 201)
      const padded = Buffer.concat([Buffer.alloc(1), Buffer.from(String(rsa.n), 'base64url')])
      const publicKey = { ...rsa, n: padded.toString('base64url') }
      assert.equal((await create({ publicKey })).status, 201)
      const keys = await stored().orderByRaw(`public_key->>'kty'`).pluck('public_key')
      assert.deepEqual(keys, [ec, rsa])
    })

    it('refuses a private key by each of its members, and stores, logs and repeats none of them', async () => {
      for (const [{ privateKey }, members] of [
        [pairs.EC, ['d']],
        [pairs.OKP, ['d']],
        [pairs.RSA, ['d', 'dp', 'dq', 'p', 'q', 'qi']],
      ] as const) {
        const publicKey = privateKey.export({ format: 'jwk' })
        const response = await create({ publicKey }, 'k1')
        response.json.errors.sort((a: { pointer: string }, b: typeof a) => (a.pointer < b.pointer ? -1 : 1))
        assertInvalid(response, ...members.map((name) => `/publicKey/${name}`))
        assert.match(response.json.errors[0].detail, /create a new key pair/)
        for (const name of members) {
          const secret = String(publicKey[name])
          assert.ok(!response.text.includes(secret) && !api.logLines.join('').includes(secret), name)
        }
      }
      await assertNothingStored()
    })
  })

  it('keeps for a body without a key or an end the hash that it had before they existed', async () => {
    await create({}, 'k1')
    const [{ request_hash }] = await api.db('client_creation_keys').where({ vendor_id: owner.vendorId })
    assert.deepEqual(request_hash, createHash('sha256').update('["Warehouse",["analytics:read"]]').digest())
  })
})
