import assert from 'node:assert/strict'
import {
  createHash,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  type KeyPairKeyObjectResult,
} from 'node:crypto'
import { calculateJwkThumbprint, type JWK } from 'jose'
import { freshOwner, sharedApi } from '../support/api.ts'
import { createCertificate } from '../support/certificates.ts'
import { assertInvalid, assertProblem } from '../support/problem.ts'
import { authority } from '../support/receivers.ts'

const VALID = { name: 'Warehouse', scopes: ['analytics:read'] }
const DAY_MS = 24 * 3_600_000

const RSA_SIZE = { modulusLength: 2_048 }
const pairs = {
  EC: generateKeyPairSync('ec', { namedCurve: 'P-256' }),
  OKP: generateKeyPairSync('ed25519'),
  RSA: generateKeyPairSync('rsa', RSA_SIZE),
}
const ec = pairs.EC.publicKey.export({ format: 'jwk' })
const ed = pairs.OKP.publicKey.export({ format: 'jwk' })
const p384 = generateKeyPairSync('ec', { namedCurve: 'P-384' }).publicKey.export({ format: 'jwk' })
const rsa = pairs.RSA.publicKey.export({ format: 'jwk' })

/** With the bytes of a point on Ed25519. */
const x25519 = createPublicKey({ key: { ...ed, crv: 'X25519' }, format: 'jwk' })
const spki = (key: KeyObject): string => key.export({ type: 'spki', format: 'pem' }) as string
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

const base64url = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64url')
const bytesOf = (text = ''): Buffer => Buffer.from(text, 'base64url')
const littleEndian = (y: bigint): string =>
  base64url(Buffer.from(y.toString(16).padStart(64, '0'), 'hex').reverse())
const P = 2n ** 255n - 19n
/** libsodium lists it among the points that it refuses. */
const ORDER_8_Y = 0x5fc536d880238b13933c6d305acdfd5f098eff289f4c345b027b2c28f95e826n

const SMALL_FACTORS = Array.from({ length: 749 }, (_, n) => BigInt(n + 2))

/** Returns the first number from `n` that no number up to 750 divides. */
function withoutSmallFactor(n: bigint): bigint {
  let candidate = n
  while (SMALL_FACTORS.some((factor) => candidate % factor === 0n)) candidate += 1n
  return candidate
}
const modulus = (n: bigint): string => base64url(Buffer.from(n.toString(16), 'hex'))
const DIVIDED_BY_751 = modulus(751n * withoutSmallFactor(2n ** 2_047n / 751n + 1n))

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
      SubjectPublicKeyInfo: [`\n ${spki(pairs.OKP.publicKey)}\n`, 'OKP'],
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

    const privateKey = pairs.EC.privateKey.export({ format: 'jwk' })
    for (const [what, keys, detail] of [
      ['a set of keys', [ec, null], /^is a JWK Set: send one of the keys in it$/],
      ['a set with a private key', [ec, privateKey], /^is a JWK Set with a key that is secret .* destroy it/],
    ] as const)
      it(`says that it is ${what}`, async () => {
        const response = await create({ publicKey: { keys } })
        assertInvalid(response, '/publicKey')
        assert.match(response.json.errors[0].detail, detail)
        assert.deepEqual(await stored(), [])
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
      const padded = base64url(Buffer.concat([Buffer.alloc(1), bytesOf(rsa.n)]))
      assert.equal((await create({ publicKey: { ...rsa, n: padded } })).status, 201)
      const keys = await stored().orderByRaw(`public_key->>'kty'`).pluck('public_key')
      assert.deepEqual(keys, [ec, rsa])
    })

    it('takes the same key in two clients, since an assertion names its client', async () => {
      const first = (await create({ publicKey: ec })).json
      const second = await create({ publicKey: ec, replaces: first.clientId })
      assert.equal(second.status, 201)
      assert.equal(second.json.keyThumbprint, first.keyThumbprint)
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

    for (const [what, publicKey, ...pointers] of [
      ['nothing private but the name of it', { ...ec, d: null }, '/publicKey/d'],
      ['a private member, whatever else is wrong', { kty: 'EC', oth: [] }, '/publicKey/oth'],
      ['null', null, '/publicKey'],
      ['a shared key', { kty: 'oct', k: 'c2VjcmV0' }, '/publicKey/k'],
      ['text that is no key', 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI me@here', '/publicKey'],
      ['a PEM of no key', '-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----', '/publicKey'],
      ['two keys in PEM', spki(pairs.EC.publicKey) + spki(pairs.OKP.publicKey), '/publicKey'],
      ['a huge PEM', spki(pairs.EC.publicKey).replace('\n', '\n'.repeat(20_000)), '/publicKey'],
      ['X25519 in PEM', spki(x25519), '/publicKey/crv'],
      ['an RSA-PSS key in PEM', spki(generateKeyPairSync('rsa-pss', RSA_SIZE).publicKey), '/publicKey'],
      ['an unknown type', { ...ec, kty: 'AKP' }, '/publicKey/kty'],
      ['P-384', p384, '/publicKey/crv', '/publicKey/x', '/publicKey/y'],
      ['a point that is not on P-256', { ...ec, y: ec.x, x: ec.y }, '/publicKey'],
      ['a coordinate of 31 bytes', { ...ec, x: base64url(bytesOf(ec.x).subarray(1)) }, '/publicKey/x'],
      ['a coordinate of 33 bytes', { ...ec, x: `AA${ec.x}` }, '/publicKey/x'],
      ['padding', { ...ec, x: `${ec.x}=` }, '/publicKey/x'],
      ['base64 that is not for URLs', { ...ec, x: `+/${ec.x?.slice(2)}` }, '/publicKey/x'],
      ['bytes that are no point on Ed25519', { ...ed, x: littleEndian(2n) }, '/publicKey/x'],
      ['a y of Ed25519 that is not reduced', { ...ed, x: littleEndian(P + 3n) }, '/publicKey/x'],
      ...[0n, 1n, P - 1n, ORDER_8_Y, P - ORDER_8_Y].map(
        (y) =>
          [`the point of small order ${y % 1_000n}`, { ...ed, x: littleEndian(y) }, '/publicKey/x'] as const,
      ),
      ['an RSA key of 2,047 bits', { ...rsa, n: modulus(withoutSmallFactor(2n ** 2_046n)) }, '/publicKey/n'],
      ['an RSA key of 4,104 bits', { ...rsa, n: modulus(withoutSmallFactor(2n ** 4_103n)) }, '/publicKey/n'],
      ['an even modulus', { ...rsa, n: modulus(2n ** 2_047n) }, '/publicKey/n'],
      ['a modulus that 751 divides', { ...rsa, n: DIVIDED_BY_751 }, '/publicKey/n'],
      ['the exponent 65,539', { ...rsa, e: 'AQAD' }, '/publicKey/e'],
      ['the exponent 3', { ...rsa, e: 'AAAD' }, '/publicKey/e'],
    ] as [string, unknown, ...string[]][])
      it(`refuses ${what}, and stores nothing`, async () => {
        assertInvalid(await create({ publicKey }), ...pointers)
        await assertNothingStored()
      })
  })

  describe('expiresAt', () => {
    const inMs = (duration_ms: number): string => new Date(api.clock.now() + duration_ms).toISOString()
    const twoYears_ms = (): number => {
      const now = new Date(api.clock.now())
      return new Date(now).setUTCFullYear(now.getUTCFullYear() + 2) - now.getTime()
    }

    it('creates a client that expires, and says so wherever the client is named', async () => {
      const expiresAt = inMs(90 * DAY_MS)
      const { status, json } = await create({ expiresAt: expiresAt.replace('Z', '+00:00') })
      assert.deepEqual([status, json.expiresAt], [201, expiresAt])
      assert.ok(json.clientSecret)
      assert.equal((await owner.request('GET', 'oauth-clients')).json.clients[0].expiresAt, expiresAt)
      assert.deepEqual((await activity())[0].detail, { ...VALID, expiresAt })
    })

    it('takes a day to two years by the clock of the service, give or take five minutes', async () => {
      for (const [duration_ms, fits] of [
        [DAY_MS, true],
        [DAY_MS - 300_000, true],
        [DAY_MS - 301_000, false],
        [0, false],
        [-DAY_MS, false],
        [twoYears_ms(), true],
        [twoYears_ms() + 300_000, true],
        [twoYears_ms() + 301_000, false],
      ] as const) {
        const response = await create({ expiresAt: inMs(duration_ms) })
        if (fits) assert.equal(response.status, 201, response.text)
        else {
          assertInvalid(response, '/expiresAt')
          assert.match(response.json.errors[0].detail, /between one day and two years/)
        }
      }
      assert.equal((await stored()).length, 4)
    })

    for (const expiresAt of ['2027-02-30T00:00:00Z', '2027-03-01T00:00:00', 1_800_000_000])
      it(`refuses ${JSON.stringify(expiresAt)}`, async () =>
        assertInvalid(await create({ expiresAt }), '/expiresAt'))
  })

  describe('an Idempotency-Key with publicKey and expiresAt', () => {
    it('refuses another key or another end, or none', async () => {
      const expiresAt = new Date(api.clock.now() + 90 * DAY_MS).toISOString()
      const body = { publicKey: ec, expiresAt }
      const first = await create(body, 'k1')
      for (const other of [
        {},
        { publicKey: ec },
        { expiresAt },
        { ...body, publicKey: ed },
        { ...body, expiresAt: new Date(api.clock.now() + 91 * DAY_MS).toISOString() },
      ])
        assertProblem(await create(other, 'k1'), 'idempotency_key_reused')
      const same = { publicKey: { ...ec, kid: 'mine' }, expiresAt: expiresAt.replace('Z', '-00:00') }
      const again = await create(same, 'k1')
      assert.deepEqual([again.status, again.json], [200, first.json])
    })

    it('finds the client again though it expires in less than a day by then', async () => {
      const body = { expiresAt: new Date(api.clock.now() + DAY_MS).toISOString() }
      const first = await create(body, 'k1')
      api.clock.advance(3_600_000)
      const again = await create(body, 'k1')
      assert.deepEqual([again.status, again.json.clientId], [200, first.json.clientId])
      assertInvalid(await create(body, 'k2'), '/expiresAt')
    })

    it('keeps the hash that a body without them had before they existed', async () => {
      await create({}, 'k1')
      const [{ request_hash }] = await api.db('client_creation_keys').where({ vendor_id: owner.vendorId })
      assert.deepEqual(request_hash, createHash('sha256').update('["Warehouse",["analytics:read"]]').digest())
    })
  })
})
