import { strict as assert } from 'node:assert'
import type { OAuthClient } from '../../apps/workspace/src/api/contract.ts'
import { countingFrom, type Progress, pairOf, progressOf } from '../../apps/workspace/src/clients/rotation.ts'

const NOW = new Date('2026-11-22T12:00:00Z')
const ago = (minutes: number) => new Date(NOW.getTime() - minutes * 60_000)

/** @param minutes since its last token; null: it never had one. */
const client = (minutes: number | null, tokensIssued24h: number): OAuthClient => ({
  clientId: 'cli_0000000000000000000000',
  name: 'Any',
  scopes: ['analytics:read'],
  secretHint: 'abcd',
  status: 'Active',
  replaces: null,
  replacedBy: null,
  createdAt: ago(60 * 24 * 90).toISOString(),
  createdBy: { userId: null, name: 'operator' },
  revokedAt: null,
  revokedBy: null,
  lastUsedAt: minutes === null ? null : ago(minutes).toISOString(),
  tokensIssued24h,
})

interface Case {
  name: string
  old: [minutes: number | null, tokens: number]
  replacement?: [minutes: number | null, tokens: number]
  /** How many minutes ago the secret was put away. */
  since?: number
  step: Progress['step']
  uses: [old: string, replacement: string]
}

const DAY = 24 * 60
const CASES: Case[] = [
  { name: 'no replacement yet', old: [0, 900], step: 'create', uses: ['asking', 'none'] },
  {
    name: 'not used yet',
    old: [0, 900],
    replacement: [null, 0],
    since: 5,
    step: 'deploy',
    uses: ['asking', 'none'],
  },
  {
    name: 'the secret is still shown',
    old: [0, 900],
    replacement: [1, 1],
    step: 'deploy',
    uses: ['asking', 'trial'],
  },
  {
    name: 'tried out before the secret was put away',
    old: [20, 900],
    replacement: [6, 1],
    since: 5,
    step: 'deploy',
    uses: ['quiet', 'trial'],
  },
  {
    name: 'deployed, and the old one still in use',
    old: [0.5, 900],
    replacement: [1, 5],
    since: 30,
    step: 'watch',
    uses: ['asking', 'asking'],
  },
  {
    name: 'deployed, and the old one pauses as it always does',
    old: [14, 900],
    replacement: [1, 5],
    since: 30,
    step: 'watch',
    uses: ['quieting', 'asking'],
  },
  {
    name: 'deployed, and the old one stopped',
    old: [15, 900],
    replacement: [1, 5],
    since: 30,
    step: 'revoke',
    uses: ['quiet', 'asking'],
  },
  {
    name: 'both asked for one token 16 minutes ago',
    old: [16, 1],
    replacement: [16, 1],
    since: 17,
    step: 'watch',
    uses: ['quieting', 'asking'],
  },
  {
    name: 'a busy one stopped, and its replacement too',
    old: [16, 900],
    replacement: [16, 1],
    since: 17,
    step: 'watch',
    uses: ['quiet', 'silent'],
  },
  {
    name: 'a nightly job that was last asked this night',
    old: [10 * 60, 1],
    replacement: [9 * 60, 1],
    since: 9.5 * 60,
    step: 'watch',
    uses: ['quieting', 'asking'],
  },
  {
    name: 'a nightly job that missed its night',
    old: [DAY + 60, 0],
    replacement: [60, 1],
    since: 90,
    step: 'revoke',
    uses: ['quiet', 'asking'],
  },
  {
    name: 'an old one that was never used',
    old: [null, 0],
    replacement: [1, 3],
    since: 30,
    step: 'revoke',
    uses: ['none', 'asking'],
  },
]

describe('the progress of a rotation', () => {
  for (const { name, old, replacement, since, step, uses } of CASES) {
    it(name, () => {
      const progress = progressOf(
        {
          old: client(...old),
          replacement: replacement && client(...replacement),
          since: since === undefined ? undefined : ago(since),
        },
        NOW,
      )
      assert.deepEqual([progress.old.use, progress.replacement.use], uses)
      assert.equal(progress.step, step)
      assert.equal(progress.caution === undefined, step === 'revoke' || step === 'create')
    })
  }

  it('is done once the old client is revoked', () => {
    const old: OAuthClient = { ...client(0, 900), status: 'Revoked' }
    assert.equal(progressOf({ old, replacement: undefined, since: undefined }, NOW).step, 'done')
  })
})

describe('from when on the tokens of a replacement count', () => {
  const replacement = { createdAt: '2026-11-22T11:00:00.000Z' }

  it('is the moment that its secret was put away', () => {
    const putAway = '2026-11-22T11:01:00.000Z'
    assert.equal(countingFrom(replacement, putAway).toISOString(), putAway)
  })

  it('is five minutes after it was created when that moment is not known', () => {
    for (const putAway of [null, '', 'yesterday']) {
      assert.equal(countingFrom(replacement, putAway).toISOString(), '2026-11-22T11:05:00.000Z')
    }
  })
})

describe('the pair of a rotation', () => {
  const one: OAuthClient = { ...client(0, 1), clientId: 'one', replacedBy: 'two' }
  const two: OAuthClient = { ...client(0, 1), clientId: 'two', replaces: 'one' }
  const pair = (of: OAuthClient, ...others: OAuthClient[]) => {
    const found = pairOf(of, (clientId) => others.find((other) => other.clientId === clientId))
    return found && [found.role, found.other.clientId]
  }

  it('is known from both sides', () => {
    assert.deepEqual(pair(one, two), ['old', 'two'])
    assert.deepEqual(pair(two, one), ['replacement', 'one'])
  })

  it('ends when either is revoked', () => {
    const revoked = { status: 'Revoked' } as const
    assert.equal(pair(one, { ...two, ...revoked }), undefined)
    assert.equal(pair({ ...one, ...revoked }, two), undefined)
    assert.equal(pair(two, { ...one, ...revoked }), undefined)
  })

  it('goes on when a replacement is itself replaced', () => {
    const three: OAuthClient = { ...client(0, 1), clientId: 'three', replaces: 'two' }
    assert.deepEqual(pair({ ...two, replacedBy: 'three' }, one, three), ['old', 'three'])
  })
})
