import { strict as assert } from 'node:assert'
import type { Scope } from '#shared/oauth/scopes.ts'
import type { OAuthClient } from '../../apps/workspace/src/api/contract.ts'
import { nextName } from '../../apps/workspace/src/clients/client-name.ts'
import { deployedAt, unprovenHabit } from '../../apps/workspace/src/clients/habits.ts'
import {
  countingFrom,
  fromSeveralAddresses,
  type Progress,
  pairOf,
  progressOf,
} from '../../apps/workspace/src/clients/rotation.ts'
import { scopesWanted, unusedScopes } from '../../apps/workspace/src/clients/unused-scopes.ts'

const NOW = new Date('2026-11-22T12:00:00Z')
const ago = (minutes: number) => new Date(NOW.getTime() - minutes * 60_000)

/** @param minutes since its last token; null: it never had one. */
const client = (minutes: number | null, tokensIssued24h: number): OAuthClient => ({
  clientId: 'cli_0000000000000000000000',
  name: 'Any',
  scopes: ['analytics:read'],
  secretHint: 'abcd',
  authMethod: 'client_secret',
  keyThumbprint: null,
  expiresAt: null,
  status: 'Active',
  secretFoundAt: null,
  secretFoundSource: null,
  replaces: null,
  replacedBy: null,
  createdAt: ago(60 * 24 * 90).toISOString(),
  createdBy: { userId: null, name: 'operator' },
  revokedAt: null,
  revokedBy: null,
  lastUsedAt: minutes === null ? null : ago(minutes).toISOString(),
  tokensIssued24h,
  tokensByDay: [],
  failing: null,
})

interface Case {
  name: string
  old: [minutes: number | null, tokens: number]
  replacement?: [minutes: number | null, tokens: number]
  /** How many minutes ago the secret was put away. */
  since?: number
  elsewhere?: boolean
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
    name: 'deployed while the secret was still shown: tokens went to a second address',
    old: [0, 900],
    replacement: [1, 2],
    elsewhere: true,
    step: 'watch',
    uses: ['asking', 'asking'],
  },
  {
    name: 'deployed before the secret was put away, and silent since',
    old: [20, 900],
    replacement: [16, 900],
    since: 15,
    elsewhere: true,
    step: 'watch',
    uses: ['quiet', 'silent'],
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
    name: 'deployed, and the old one was asked two minutes ago',
    old: [2, 900],
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
  for (const { name, old, replacement, since, elsewhere = false, step, uses } of CASES) {
    it(`is at “${step}”: ${name}`, () => {
      const progress = progressOf(
        {
          old: client(...old),
          replacement: replacement && client(...replacement),
          since: since === undefined ? undefined : ago(since),
          elsewhere,
        },
        NOW,
      )
      assert.deepEqual([progress.old.use, progress.replacement.use], uses)
      assert.equal(progress.step, step)
      assert.equal(progress.caution === undefined, step === 'revoke' || step === 'create')
    })
  }

  it('does not suggest to revoke while a habit of the old client speaks against it', () => {
    const replacement = client(1, 5)
    const unproven =
      'The old client requests tokens every night at 02:00; that has not passed since you deployed.'
    const progress = progressOf({ old: client(20, 900), replacement, since: ago(30), unproven }, NOW)
    assert.equal(progress.step, 'watch')
    assert.equal(progress.caution, unproven)
  })

  it('ends a rotation once the old client is revoked', () => {
    const old: OAuthClient = { ...client(0, 900), status: 'Revoked' }
    assert.equal(progressOf({ old, replacement: undefined, since: undefined }, NOW).step, 'done')
  })
})

describe('what the habits of an old client say against revoking it', () => {
  /** 14 days by hour, up to noon of 20 November 2026, a Friday, by the clock of this machine. */
  const hours = (asked: (at: Date) => boolean) =>
    Array.from({ length: 14 * 24 }, (_, index) => new Date(2026, 10, 20, 12 - (14 * 24 - 1 - index))).map(
      (at) => ({
        hour: at.toISOString(),
        tokens: asked(at) ? 3 : 0,
        refused: 0,
      }),
    )
  const on = (day: number, hour: number, minute = 30) => new Date(2026, 10, day, hour, minute)
  const untilDay = (at: Date, day: number) => at < on(day, 0, 0)
  const cases: [name: string, asked: (at: Date) => boolean, deployed: Date, said: RegExp | undefined][] = [
    [
      'every night, and no night since',
      (at) => at.getHours() === 2,
      on(20, 9),
      /requests tokens every night at 02:00; that has not passed/,
    ],
    [
      'every night, and one has passed',
      (at) => at.getHours() === 2 && untilDay(at, 20),
      on(19, 15),
      undefined,
    ],
    [
      'every night, and still last night',
      (at) => at.getHours() === 2,
      on(19, 15),
      /still requests tokens every night at 02:00/,
    ],
    [
      'every night, deployed within that hour',
      (at) => at.getHours() === 2 && untilDay(at, 20),
      on(20, 2),
      /has not passed/,
    ],
    [
      'twice a day, one of which has passed',
      (at) => [2, 14].includes(at.getHours()) && untilDay(at, 20),
      on(19, 20),
      /every day at 14:00; that/,
    ],
    [
      'by day, in the evening',
      (at) => at.getHours() >= 7 && at.getHours() < 19 && untilDay(at, 19),
      on(19, 20),
      undefined,
    ],
    [
      'by day, deployed at night',
      (at) => at.getHours() >= 13 && at.getHours() < 22 && untilDay(at, 20),
      on(20, 3),
      /every day between 13:00 and 22:00; that/,
    ],
    [
      'every Monday',
      (at) => at.getDay() === 1 && at.getHours() === 3,
      on(18, 9),
      /every Monday at 03:00; that/,
    ],
    [
      'every morning',
      (at) => at.getHours() === 7 && untilDay(at, 20),
      on(20, 9),
      /every day at 07:00; that has not passed/,
    ],
    ['around the clock', (at) => untilDay(at, 20), on(20, 11), undefined],
    ['now and then', (at) => at.getDate() === 12 && at.getHours() === 3, on(20, 9), undefined],
    ['never', () => false, on(20, 9), undefined],
    [
      'only since the deployment, every night',
      (at) => at.getHours() === 2 && at >= on(16, 0),
      on(15, 12),
      undefined,
    ],
    [
      'at an hour that is not over',
      (at) => at.getHours() === 12 && untilDay(at, 20),
      on(19, 15),
      /every day at 12:00; that has not passed/,
    ],
    ['two nights only', (at) => at.getHours() === 2 && at.getDate() > 18, on(20, 9), undefined],
  ]
  for (const [name, asked, deployed, said] of cases) {
    it(`${said ? 'warns' : 'does not warn'} of an old client asked ${name}`, () => {
      const sentence = unprovenHabit(hours(asked), deployed)
      if (said) assert.match(sentence ?? 'nothing', said)
      else assert.equal(sentence, undefined)
    })
  }

  it('dates a deployment from the replacement’s first token after its trials', () => {
    const used = hours((at) => at >= on(19, 9, 0))
    assert.equal(deployedAt(used, on(19, 12))?.getTime(), on(19, 12).getTime())
    assert.equal(deployedAt(used, on(18, 12))?.getTime(), on(19, 9, 0).getTime())
    assert.equal(
      deployedAt(
        hours(() => false),
        on(18, 12),
      ),
      undefined,
    )
  })
})

describe('the name of a replacement', () => {
  for (const [name, next] of [
    ['Warehouse', 'Warehouse 2'],
    ['Warehouse 2', 'Warehouse 3'],
    ['Warehouse 9', 'Warehouse 10'],
    ['é'.repeat(100), `${'é'.repeat(98)} 2`],
  ] as const)
    it(`suggests ${next.slice(-12)} after ${name.slice(-12)}`, () => assert.equal(nextName(name), next))
})

describe('the scopes that a replacement can do without', () => {
  const now = new Date('2026-11-22T12:00:00Z')
  const used = (scope: Scope, days: number | null) => ({
    scope,
    lastUsedAt: days === null ? null : new Date(now.getTime() - days * 86_400_000).toISOString(),
  })
  const old = { status: 'Active', createdAt: '2026-09-01T00:00:00Z' } as const
  const scopes = [used('analytics:read', 1), used('boost:read', 31), used('boost:write', null)]

  it('names the scopes that no token had for 30 days', () => {
    assert.deepEqual(unusedScopes(old, scopes, now), ['boost:read', 'boost:write'])
    assert.deepEqual(unusedScopes(old, [used('boost:read', 29)], now), [])
  })

  it('names no unused scope of a client that is revoked, young or never used', () => {
    assert.deepEqual(unusedScopes({ ...old, status: 'Revoked' }, scopes, now), [])
    assert.deepEqual(unusedScopes({ ...old, createdAt: '2026-10-24T00:00:00Z' }, scopes, now), [])
    assert.deepEqual(unusedScopes(old, scopes.slice(1), now), [])
  })

  it('takes the scopes of a replacement from the address, but none that the old client lacks', () => {
    const of: { scopes: Scope[] } = { scopes: ['analytics:read', 'boost:read'] }
    const wanted = (text: string) => scopesWanted(new URLSearchParams(text), of)
    assert.deepEqual(wanted('scopes=boost:read,catalog:write,nonsense'), ['boost:read'])
    assert.deepEqual(wanted('scopes=catalog:write'), of.scopes)
    assert.deepEqual(wanted(''), of.scopes)
  })
})

describe('from when on the tokens of a replacement count', () => {
  const replacement = { createdAt: '2026-11-22T11:00:00.000Z' }

  it('counts a replacement’s tokens from when its secret was put away', () => {
    const putAway = '2026-11-22T11:01:00.000Z'
    assert.equal(countingFrom(replacement, putAway).toISOString(), putAway)
  })

  it('counts a replacement’s tokens from five minutes after its creation when that is unknown', () => {
    for (const putAway of [null, '', 'yesterday']) {
      assert.equal(countingFrom(replacement, putAway).toISOString(), '2026-11-22T11:05:00.000Z')
    }
  })
})

describe('tokens to several addresses', () => {
  const seen = (...addresses: string[]) =>
    addresses.map((address) => ({ address, tokens: 1, lastSeenAt: NOW.toISOString() }))

  it('distinguishes several addresses from one machine with several of IPv6', () => {
    assert.equal(fromSeveralAddresses(seen('192.0.2.1', '198.51.100.7')), true)
    assert.equal(fromSeveralAddresses(seen('192.0.2.1')), false)
    assert.equal(fromSeveralAddresses(seen('192.0.2.1', '2001:db8::1', '2001:db8::2')), false)
    assert.equal(fromSeveralAddresses([]), false)
  })
})

describe('the pair of a rotation', () => {
  const one: OAuthClient = { ...client(0, 1), clientId: 'one', replacedBy: 'two' }
  const two: OAuthClient = { ...client(0, 1), clientId: 'two', replaces: 'one' }
  const pair = (of: OAuthClient, ...others: OAuthClient[]) => {
    const found = pairOf(of, (clientId) => others.find((other) => other.clientId === clientId))
    return found && [found.role, found.other.clientId]
  }

  it('finds the pair of a rotation from both sides', () => {
    assert.deepEqual(pair(one, two), ['old', 'two'])
    assert.deepEqual(pair(two, one), ['replacement', 'one'])
  })

  it('finds no pair once either client is revoked', () => {
    const revoked = { status: 'Revoked' } as const
    assert.equal(pair(one, { ...two, ...revoked }), undefined)
    assert.equal(pair({ ...one, ...revoked }, two), undefined)
    assert.equal(pair(two, { ...one, ...revoked }), undefined)
  })

  it('finds the next pair when a replacement is itself replaced', () => {
    const three: OAuthClient = { ...client(0, 1), clientId: 'three', replaces: 'two' }
    assert.deepEqual(pair({ ...two, replacedBy: 'three' }, one, three), ['old', 'three'])
  })
})
