import type { Scope } from '#shared/oauth/scopes.ts'

/** What a scope lets a client do, in plain words. */
export const SCOPE_WORDS: Record<Scope, { title: string; text: string }> = {
  'analytics:read': {
    title: 'Read daily analytics',
    text: 'Impressions, clicks, orders, revenue and boost spend, day by day.',
  },
  'boost:read': { title: 'Read boosts', text: 'Which boosts exist and how they perform.' },
  'analytics:write': {
    title: 'Report analytics events',
    text: 'Adds to the daily figures. For systems that see impressions and orders.',
  },
  'boost:write': { title: 'Change boosts', text: 'Starting or changing a boost spends money.' },
  'catalog:write': { title: 'Change the catalog', text: 'What your company offers, as customers see it.' },
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
