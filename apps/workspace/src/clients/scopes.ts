import type { Scope } from '#shared/oauth/scopes.ts'
import { type AuthMethod, CREDENTIAL_WORDS } from './credential.ts'

/** What a scope lets a client do, in plain words. */
export const SCOPE_WORDS: Record<Scope, { title: string; text: string; changes: boolean }> = {
  'analytics:read': {
    title: 'Read daily analytics',
    text: 'Impressions, clicks, orders, revenue and boost spend, day by day.',
    changes: false,
  },
  'boost:read': {
    title: 'Read boosts',
    text: 'Which boosts exist and how they perform.',
    changes: false,
  },
  'analytics:write': {
    title: 'Report analytics events',
    text: 'Adds to the daily figures. For systems that see impressions and orders.',
    changes: true,
  },
  'boost:write': {
    title: 'Change boosts',
    text: 'Starting or changing a boost spends money.',
    changes: true,
  },
  'catalog:write': {
    title: 'Change the catalog',
    text: 'What your company offers, as customers see it.',
    changes: true,
  },
}

/** Those that this API looks for come first. */
export const SCOPE_GROUPS: readonly { title: string; scopes: readonly Scope[] }[] = [
  { title: 'This API', scopes: ['analytics:read', 'analytics:write'] },
  {
    title: 'Other services of your company. No route of this API needs these yet.',
    scopes: ['boost:read', 'boost:write', 'catalog:write'],
  },
]

/** The same scopes in the one order in which every screen lists them. */
export const inOrder = (scopes: readonly Scope[]): Scope[] =>
  SCOPE_GROUPS.flatMap((group) => group.scopes).filter((scope) => scopes.includes(scope))

/** Everything that a secret or private key in the wrong hands could do. Empty without a scope. */
export function reach(scopes: readonly Scope[], method: AuthMethod): string {
  if (scopes.length === 0) return ''
  const ordered = inOrder(scopes)
  const acts = ordered.map((scope) => lowerFirst(SCOPE_WORDS[scope].title))
  const changes = ordered.some((scope) => SCOPE_WORDS[scope].changes)
  return `Anyone with this client’s ${CREDENTIAL_WORDS[method].proof} can ${new Intl.ListFormat('en').format(acts)}${changes ? '.' : ', and change nothing.'}`
}

const lowerFirst = (text: string): string => text.charAt(0).toLowerCase() + text.slice(1)
