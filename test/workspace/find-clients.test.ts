import assert from 'node:assert/strict'
import type { OAuthClient } from '../../apps/workspace/src/api/contract.ts'
import { CLIENT_FILTER, TROUBLES } from '../../apps/workspace/src/clients/find-clients.ts'
import { readSearch } from '../../apps/workspace/src/ui/search.ts'

describe('what an address asks the list of clients for', () => {
  for (const sort of ['__proto__', '-constructor', 'toString', 'price'])
    it(`is the usual order if it names ${sort}`, () => {
      assert.equal(readSearch(new URLSearchParams({ sort }), CLIENT_FILTER).sort, 'added')
    })
})

describe('what needs a person', () => {
  const now = new Date('2026-11-24T12:00:00Z')
  const inDays = (days: number) => new Date(now.getTime() + days * 86_400_000).toISOString()
  const failing = { since: inDays(-1), cause: 'wrong_secret', address: null, senderKnown: true }
  const of = (part: Partial<OAuthClient>) => {
    const healthy = {
      status: 'Active',
      createdAt: inDays(-90),
      lastUsedAt: inDays(-1),
      expiresAt: null,
      secretFoundAt: null,
      failing: null,
      ...part,
    } as OAuthClient
    return TROUBLES.filter(({ has }) => has(healthy, now)).map(({ view }) => view)
  }
  for (const [what, part, views] of [
    ['a client in use', {}, []],
    ['a secret that was found', { secretFoundAt: inDays(-1) }, ['found']],
    ['a secret that was found, of a revoked client', { secretFoundAt: inDays(-1), status: 'Revoked' }, []],
    ['a client that fails', { failing }, ['failing']],
    ['a revoked client that still asks', { failing, status: 'Revoked' }, ['asking']],
    ['a revoked client', { status: 'Revoked', lastUsedAt: inDays(-60), expiresAt: inDays(2) }, []],
    ['a client that expires in 30 days', { expiresAt: inDays(30) }, ['expiring']],
    ['a client unused for 30 days', { lastUsedAt: inDays(-30) }, ['unused']],
    ['uses that may be missing', { lastUsedAt: inDays(-30), usesMissingBefore: inDays(-20) }, []],
    ['a client unused for 29 days', { lastUsedAt: inDays(-29) }, []],
    ['a new client that was never used', { lastUsedAt: null, createdAt: inDays(-29) }, []],
    ['an old client that was never used', { lastUsedAt: null, createdAt: inDays(-30) }, ['unused']],
  ] as const)
    it(`is ${views.join(' and ') || 'nothing'}: ${what}`, () => assert.deepEqual(of(part), views))
})
