import assert from 'node:assert/strict'
import { hoursInWords } from '#shared/rules/hours-in-words.ts'
import type { OAuthClient } from '../../apps/workspace/src/api/contract.ts'
import { unusedScopes } from '../../apps/workspace/src/clients/unused-scopes.ts'

describe('the words of a quiet time', () => {
  for (const [hours, words] of [
    [0, 'less than a minute'],
    [0.01, '1 minute'],
    [0.03, '2 minutes'],
    [0.99, '59 minutes'],
    [1, '1 hour'],
    [23.9, '23 hours 54 minutes'],
    [47.99, '47 hours 59 minutes'],
    [48, '2 days'],
    [73, '3 days 1 hour'],
    [167.6, '7 days'],
  ] as const)
    it(`says ${words} for ${hours} quiet hours`, () => {
      assert.equal(hoursInWords(hours), words)
    })
})

describe('the scopes that a client could do without', () => {
  const now = new Date('2026-11-24T12:00:00Z')
  const daysAgo = (days: number) => new Date(now.getTime() - days * 86_400_000).toISOString()
  const find = (used: [number, number | null], more: Partial<OAuthClient>) => {
    const client = { status: 'Active', createdAt: daysAgo(90), usesMissingBefore: null, ...more } as const
    const scopes = (['analytics:read', 'boost:read'] as const).map((scope, index) => {
      const days = used[index] ?? null
      return { scope, lastUsedAt: days === null ? null : daysAgo(days) }
    })
    return unusedScopes(client, scopes, now)
  }
  for (const [what, used, more, unused] of [
    ['one was never used', [1, null], {}, ['boost:read']],
    ['one was used 31 days ago', [1, 31], {}, ['boost:read']],
    ['one was used 29 days ago', [1, 29], {}, []],
    ['none was used', [31, null], {}, []],
    ['the client is younger', [1, null], { createdAt: daysAgo(29) }, []],
    ['the client is revoked', [1, null], { status: 'Revoked' }, []],
    ['uses of the last 30 days may be missing', [1, null], { usesMissingBefore: daysAgo(29) }, []],
    ['only older uses may be missing', [1, null], { usesMissingBefore: daysAgo(31) }, ['boost:read']],
  ] as const)
    it(`finds ${unused.join() || 'none'} if ${what}`, () => assert.deepEqual(find([...used], more), unused))
})
