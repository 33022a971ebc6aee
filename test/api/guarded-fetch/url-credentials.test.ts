import assert from 'node:assert/strict'
import { createAddressRule } from '../../../apps/api/guarded-fetch/address-verdict.ts'
import { checkPublicUrl } from '../../../apps/api/guarded-fetch/url-verdict.ts'
import { listed } from './spellings.ts'

const STANDING_FOR: Record<string, string> = {
  HEX: '9f86d081884c7d659a2feaa0c55ad015',
  RANDOM: '4eC39HqLyjWDarjtT1zdp7dcXq8Zm2RvTy6Bn0Pw',
  UUID: '3f2b8c1e-7d4a-4b5e-9f60-1a2b3c4d5e6f',
  AZURE_WORKFLOW:
    'prod-26.uksouth.logic.azure.com:443/workflows/852a3c17/triggers/manual/paths/invoke?api-version=2016-06-01',
}

describe('credentials in a callback URL', () => {
  const verdict = (url: string): string => {
    const result = checkPublicUrl(`https://${url}`, createAddressRule())
    return result.ok ? 'accepted' : result.code
  }
  for (const [heading, expected] of [
    ['what services print', 'callback_url_credential'],
    ['addresses with a secret', 'callback_url_secret'],
    ['opaque paths', 'accepted'],
  ] as const)
    describe(expected, () => {
      for (const row of listed(heading, /\n/)) {
        const [what, url = ''] = row
          .replaceAll(/\{(\w+)\}/g, (_, name) => STANDING_FOR[name] ?? '')
          .split(' | ')
        it(`judges ${what}`, () => assert.equal(verdict(url), expected))
      }
    })
})
