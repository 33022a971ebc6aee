import { strict as assert } from 'node:assert'
import type { Scope } from '#shared/oauth/scopes.ts'
import type { ClientRotation, OAuthClient } from '../../apps/workspace/src/api/contract.ts'
import { near, onDay } from '../../apps/workspace/src/api/time.ts'
import { nextName } from '../../apps/workspace/src/clients/client-name.ts'
import { pairOf } from '../../apps/workspace/src/clients/pair.ts'
import {
  armedBy,
  armedWords,
  armingWords,
  refusedSince,
  rehearsed,
  STATE_WORDS,
  sentenceOf,
} from '../../apps/workspace/src/clients/rotation-words.ts'
import { axisOf } from '../../apps/workspace/src/clients/timeline-axis.ts'
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

const rotation = (part: Partial<ClientRotation>): ClientRotation => ({
  replacementId: 'cli_1111111111111111111111',
  state: 'waiting',
  evidenceSince: '2026-09-01T03:00:00.000Z',
  lastUsedAt: '2026-11-20T03:00:10.000Z',
  longestGapSeconds: 4 * 86_400,
  expectedNextUseAt: '2026-11-24T03:00:10.000Z',
  safeFrom: '2026-11-25T03:00:10.000Z',
  secretPutAwayAt: null,
  addresses: [],
  refusedSinceRevoke: 0,
  refusedAddresses: [],
  ifRevokedNow: { addresses: 0, tokensAnHour: 0 },
  armed: null,
  ...part,
})
const clockOf = (at: string) => near(new Date(at), NOW)

describe('the words for a rotation', () => {
  it('lets a person revoke as the next step only when the service says safe', () => {
    const revokes = Object.entries(STATE_WORDS).filter(([, { steps }]) => steps.revoke === 'now')
    assert.deepEqual(
      revokes.map(([state]) => state),
      ['safe'],
    )
  })

  it('ticks deploying and watching after a revoke only when the service says complete', () => {
    const ticked = Object.entries(STATE_WORDS).filter(
      ([, { steps }]) => steps.revoke === 'done' && (steps.deploy === 'done' || steps.watch === 'done'),
    )
    assert.deepEqual(
      ticked.map(([state]) => state),
      ['complete'],
    )
  })

  it('shows nothing as good while the usage is unknown', () => {
    const { old, replacement, steps, warning } = STATE_WORDS.unknown
    assert.deepEqual([old?.tone, replacement?.tone], ['idle', 'idle'])
    assert.equal(Object.values(steps).includes('done'), false)
    assert.equal(warning, 'It is not known whether it is in use')
  })

  it('names the last use, the expected one and the end of the wait', () => {
    assert.equal(
      sentenceOf(rotation({}), NOW),
      `The old client got its last token on ${clockOf('2026-11-20T03:00:10Z')} and has paused for up to 4 days before. Its next use is expected by ${clockOf('2026-11-24T03:00:10Z')}. If it is not used until ${clockOf('2026-11-25T03:00:10Z')}, it is safe to revoke.`,
    )
    const passed = sentenceOf(rotation({ expectedNextUseAt: ago(60).toISOString() }), NOW)
    assert.equal(passed.includes('expected'), false)
  })

  it('says that no rhythm is known, with the uses that are', () => {
    const once = { state: 'no_rhythm', evidenceSince: '2026-11-20T03:00:00.000Z' } as const
    assert.match(
      sentenceOf(rotation(once), NOW),
      /^No rhythm known: its only known use was on \w+ \d\d:\d\d\./,
    )
    assert.match(
      sentenceOf(rotation({ state: 'no_rhythm' }), NOW),
      /^No rhythm known: its uses from 1 Sept? 2026, .* do not show/,
    )
  })
})

describe('the rehearsal of a revocation', () => {
  const cases: [Partial<ClientRotation>, RegExp][] = [
    [
      { ifRevokedNow: { addresses: 2, tokensAnHour: 4.2 } },
      /: 2 addresses, about 4 tokens an hour would fail$/,
    ],
    [{ ifRevokedNow: { addresses: 1, tokensAnHour: 0.04 } }, /: 1 address, about 1 token a day would fail$/],
    [
      { ifRevokedNow: { addresses: 1, tokensAnHour: 0 } },
      /: 1 address, without a token in the last 24 hours, would fail$/,
    ],
    [{}, /: no known use would fail$/],
    [{ longestGapSeconds: null }, /: no known use would fail, but no rhythm is known of it$/],
    [{ lastUsedAt: null }, /It has never got a token\.$/],
    [
      { state: 'unknown', ifRevokedNow: { addresses: 0, tokensAnHour: 0 } },
      /: unknown\. Its usage cannot be read\.$/,
    ],
  ]
  for (const [part, said] of cases)
    it(`says ${said.source.slice(0, 40)}`, () => assert.match(rehearsed(rotation(part)), said))
})

describe('what fails after a revoke', () => {
  const me = { credential: 'secret', userId: 'usr_me', now: NOW } as const
  const revoked = (userId: string, minutes: number): OAuthClient => ({
    ...client(0, 1),
    status: 'Revoked',
    revokedAt: ago(minutes).toISOString(),
    revokedBy: { userId, name: 'Bill' },
  })
  const refused = (refusedSinceRevoke: number, ...refusedAddresses: string[]) =>
    rotation({ state: 'refused', refusedSinceRevoke, refusedAddresses })

  it('counts the refused requests and names who revoked and from where they come', () => {
    assert.equal(
      refusedSince(refused(3, '203.0.113.7'), revoked('usr_me', 10), me),
      '3 requests with the old secret were refused since you revoked it, from 203.0.113.7',
    )
    assert.equal(
      refusedSince(refused(1), revoked('usr_other', 10), me),
      '1 request with the old secret was refused since Bill revoked it',
    )
  })

  it('claims no more than the day that the service remembers', () => {
    assert.equal(
      refusedSince(refused(9, 'a', 'b', 'c', 'd', 'e'), revoked('usr_me', 3 * 24 * 60), me),
      '9 requests with the old secret were refused in the last 24 hours, from a, b, c, and 2 more addresses',
    )
  })
})

describe('the words of arming', () => {
  it('names the use that must pass, then the end of the wait, then the replacement', () => {
    assert.equal(
      armingWords(rotation({}), 'secret', NOW),
      `Revoke when ${clockOf('2026-11-24T03:00:10Z')} has passed without the old secret`,
    )
    const passed = ago(1).toISOString()
    assert.equal(
      armingWords(rotation({ expectedNextUseAt: passed }), 'secret', NOW),
      `Revoke at ${clockOf('2026-11-25T03:00:10Z')} unless the old secret is used`,
    )
    assert.equal(
      armingWords(rotation({ expectedNextUseAt: passed, safeFrom: passed }), 'secret', NOW),
      'Revoke as soon as the replacement is in use',
    )
  })
})

describe('the words of an armed revocation', () => {
  const said = (part: Partial<ClientRotation>) => armedWords(rotation(part), NOW)

  it('names the time that must pass, and what cancels it', () => {
    assert.equal(
      said({}),
      `The service revokes the old client at ${clockOf('2026-11-25T03:00:10Z')} at the earliest, once the replacement is in use. Any use of the old client before then cancels this.`,
    )
  })

  it('promises no time that the service does not know', () => {
    const passed = { safeFrom: ago(1).toISOString() }
    assert.match(said(passed), /^The service revokes the old client as soon as the replacement is in use\./)
    assert.match(
      said({ ...passed, state: 'safe' }),
      /^The service revokes the old client within a few minutes\./,
    )
    for (const state of ['unknown', 'no_rhythm', 'unused'] as const)
      assert.match(said({ state, safeFrom: null }), /once that is safe, at a time that is not known\./)
  })

  it('names the person who armed it', () => {
    const armed = { at: '2026-11-22T11:00:00.000Z', by: { userId: 'usr_1', name: 'Anton Weiss' } }
    const when = onDay(new Date(armed.at)).slice('on '.length)
    assert.equal(armedBy(armed, 'usr_1'), `you on ${when}`)
    assert.equal(armedBy(armed, 'usr_2'), `Anton Weiss on ${when}`)
  })

  it('is offered only where it can come to something', () => {
    const armable = Object.entries(STATE_WORDS).filter(([, { arms }]) => arms)
    assert.deepEqual(
      armable.map(([state]) => state),
      ['not_deployed', 'trial', 'replacement_silent', 'waiting'],
    )
  })
})

describe('the timeline of a rotation', () => {
  const of = (part: Partial<ClientRotation>) => axisOf(rotation(part), NOW)
  const shareOf = ({ x }: ReturnType<typeof of>, at: string | null) => parseFloat(x(Date.parse(at ?? '')))

  it('has 14 days before now, and the wait after it', () => {
    const axis = of({})
    assert.equal(new Date(axis.from_ms).toISOString(), '2026-11-08T13:00:00.000Z')
    assert.equal(shareOf(axis, '2026-11-08T13:00:00Z'), 0)
    assert.ok(shareOf(axis, '2026-11-07T13:00:00Z') < 0)
    const [now, expected, safe] = [NOW.toISOString(), rotation({}).expectedNextUseAt, rotation({}).safeFrom]
    assert.ok(shareOf(axis, now) < shareOf(axis, expected))
    assert.ok(shareOf(axis, expected) < shareOf(axis, safe))
    assert.ok(shareOf(axis, safe) < 100)
  })

  it('marks at its edge what is a month ahead, and has a day of the future when nothing is expected', () => {
    const month = of({ expectedNextUseAt: '2026-12-20T00:00:00Z', safeFrom: '2026-12-28T00:00:00Z' })
    assert.equal(shareOf(month, '2026-12-20T00:00:00Z'), 97)
    assert.equal(shareOf(month, '2026-11-27T12:00:00Z'), 97)
    const nothing = of({ expectedNextUseAt: null, safeFrom: null })
    assert.equal(shareOf(nothing, '2026-11-23T12:00:00Z'), 97)
  })

  it('names each day at its first hour, and none where there is no room', () => {
    const { days } = of({})
    assert.ok(days.every(({ at_ms }) => new Date(at_ms).getHours() === 0))
    assert.equal(days[0]?.name, 'Mon 9')
    assert.deepEqual(
      days.slice(1, 3).map(({ name }) => name),
      ['Tue', 'Wed'],
    )
    assert.equal(days.at(-1)?.name, '')
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
