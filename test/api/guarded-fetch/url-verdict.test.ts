import assert from 'node:assert/strict'
import { isIP } from 'node:net'
import fc from 'fast-check'
import { createAddressRule } from '../../../apps/api/guarded-fetch/address-verdict.ts'
import { checkPublicUrl, hostToLog } from '../../../apps/api/guarded-fetch/url-verdict.ts'
import {
  CALLBACK_URL_PROBLEMS,
  type CallbackUrlProblemCode,
} from '../../../apps/api/problems/callback-url-problems.ts'
import { ANY_CHARACTER } from '../../support/any-character.ts'
import { EVERYTHING } from '../../support/tier.ts'
import { ACCEPTED } from './accepted-urls.ts'
import { REFUSED } from './refused-urls.ts'

const RUNS = EVERYTHING ? 3_000 : 1_000
const rule = createAddressRule()
const check = (input: unknown) => checkPublicUrl(input, rule)
const shown = (typed: unknown): string => {
  const text = typeof typed === 'string' ? JSON.stringify(typed) : String(typed)
  return text.length > 90 ? `${text.slice(0, 90)}… (${text.length})` : text
}

describe('the verdict on a callback URL', () => {
  for (const [code, cases] of Object.entries(REFUSED) as [CallbackUrlProblemCode, unknown[]][])
    describe(`refuses with ${code}`, () => {
      for (const typed of cases)
        it(shown(typed), () => {
          const verdict = check(typed)
          assert.equal(verdict.ok ? `accepted as ${verdict.url.href}` : verdict.code, code)
        })
    })

  describe('accepts', () => {
    for (const [typed, saved] of ACCEPTED)
      it(shown(typed), () => {
        const verdict = check(typed)
        assert.equal(verdict.ok ? verdict.url.href : verdict.code, saved)
      })
  })

  it('has a case for every reason but the one that takes DNS', () => {
    const reasons = Object.keys(CALLBACK_URL_PROBLEMS).filter(
      (code) => code !== 'callback_url_resolves_to_private_address',
    )
    assert.deepEqual(Object.keys(REFUSED).sort(), reasons.sort())
  })

  it('says each reason in a sentence of its own, without repeating what was typed', () => {
    const sentences = Object.values(CALLBACK_URL_PROBLEMS)
    assert.equal(new Set(sentences).size, sentences.length)
    for (const sentence of sentences) assert.match(sentence, /^[A-Z].+\.$/)
    const verdict = check('https://user:hunter2@hooks.acme.com/')
    assert.ok(!verdict.ok && !verdict.sentence.includes('hunter2'))
  })

  it('says which kind of address a refused literal is', () => {
    const verdict = check('https://0x7f.1/')
    assert.ok(!verdict.ok)
    assert.match(verdict.sentence, /^The host is a loopback address\./)
  })

  it('takes the parts from the normal form', () => {
    const names = { hostname: 'hooks.acme.com', host: 'hooks.acme.com:8443' }
    const url = { href: 'https://hooks.acme.com:8443/b?c=d', ...names, port: 8443, address: null }
    assert.deepEqual(check('HTTPS://Hooks.Acme.com:8443/a/../b?c=d'), { ok: true, url })
    const [literal, address] = [check('https://[2606:4700:0::1111]/'), '2606:4700::1111']
    assert.partialDeepStrictEqual(literal, { ok: true, url: { address, hostname: address } })
  })

  it('ignores a few spaces around the URL', () => {
    const url = `https://acme.com/${'a'.repeat(2_031)}`
    assert.equal(Buffer.byteLength(url), 2_048)
    for (const typed of [` ${url}`, `${' '.repeat(32)}${url}${' '.repeat(32)}`]) {
      const verdict = check(typed)
      assert.equal(verdict.ok ? verdict.url.href : verdict.code, url)
    }
    const verdict = check(`${' '.repeat(33)}${url}${' '.repeat(32)}`)
    assert.equal(!verdict.ok && verdict.code, 'callback_url_too_long')
  })

  it('uses the address rule that it is given for literals', () => {
    const denying = createAddressRule({ denyRanges: ['8.8.8.0/24'] })
    assert.equal(checkPublicUrl('https://8.8.8.8/', denying).ok, false)
    assert.equal(checkPublicUrl('https://8.8.4.4/', denying).ok, true)
  })
})

const anyUrl = fc.oneof(
  fc.webUrl({ validSchemes: ['https'], withQueryParameters: true }),
  fc.string({ unit: ANY_CHARACTER }).map((text) => `https://${text}`),
  fc.string({ unit: 'grapheme' }).map((text) => `https://${text}/`),
  fc.tuple(fc.ipV4Extended(), fc.webPath()).map(([host, path]) => `https://${host}${path}`),
  fc.tuple(fc.ipV6(), fc.webPath()).map(([host, path]) => `https://[${host}]${path}`),
  fc.mixedCase(fc.domain()).map((name) => `HTTPS://${name}`),
  fc.tuple(fc.domain(), fc.string({ unit: ANY_CHARACTER })).map(([name, text]) => `https://${name}/${text}`),
)

describe('whatever is typed, the verdict', () => {
  it('never throws, whatever is typed', () =>
    fc.assert(
      fc.property(
        fc.oneof(anyUrl, fc.string({ unit: ANY_CHARACTER }), fc.anything()),
        (typed) => void check(typed),
      ),
    ))

  it('accepts only a public HTTPS destination, whatever is typed', () =>
    fc.assert(
      fc.property(anyUrl, (typed) => {
        const verdict = check(typed)
        if (!verdict.ok) return
        const url = new URL(verdict.url.href)
        assert.equal(url.protocol, 'https:')
        assert.equal(`${url.username}${url.password}${url.hash}`, '')
        assert.ok(Buffer.byteLength(url.href) <= 2_048)
        assert.match(url.href, /^[\x21-\x7e]+$/)
        const host = url.hostname.replace(/^\[|\]$/g, '')
        if (isIP(host)) assert.equal(rule(host).public, true)
        else assert.match(host, /^(?:[a-z0-9_-]+\.)+[a-z][a-z0-9-]+$/)
      }),
      { numRuns: RUNS },
    ))

  it('judges the saved form of a URL alike', () =>
    fc.assert(
      fc.property(anyUrl, (typed) => {
        const verdict = check(typed)
        if (verdict.ok) assert.deepEqual(check(verdict.url.href), verdict)
      }),
      { numRuns: RUNS },
    ))
})

describe('the host that the log names when a URL is refused', () => {
  for (const [typed, host] of [
    ['http://hooks.acme.com/', 'hooks.acme.com'],
    ['https://[::1]/', '::1'],
    ['https://4eC39HqLyjWDarjtT1zdp7dc/', null],
    ['4eC39HqLyjWDarjtT1zdp7dc', null],
    [`https://hooks.acme.com/${'a'.repeat(2_112)}`, null],
    [7, null],
  ] as const)
    it(`logs the host ${host} for ${JSON.stringify(typed).slice(0, 50)}`, () =>
      assert.equal(hostToLog(typed), host))
})
