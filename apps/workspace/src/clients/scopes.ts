import type { Scope } from '#shared/oauth/scopes.ts'

/** What a scope lets a client do, in plain words. */
export const SCOPE_WORDS: Record<Scope, { title: string; text: string; changes: boolean }> = {
  'analytics:read': {
    title: 'Read daily analytics',
    text: 'Impressions, clicks, orders, revenue and boost spend, day by day.',
    changes: false,
  },
  'boost:read': {
    title: 'Read boosts',
    text: 'Which boosts there are and how they run.',
    changes: false,
  },
  'analytics:write': {
    title: 'Report analytics events',
    text: 'Adds to the daily figures. For the systems where impressions and orders happen.',
    changes: true,
  },
  'boost:write': {
    title: 'Change boosts',
    text: 'Starting and changing boosts spends money.',
    changes: true,
  },
  'catalog:write': {
    title: 'Change the catalog',
    text: 'What your company offers, as others see it.',
    changes: true,
  },
}

/** Those that only read first. */
export const SCOPE_GROUPS: readonly { title: string; scopes: readonly Scope[] }[] = [
  { title: 'Read only', scopes: ['analytics:read', 'boost:read'] },
  { title: 'Make changes', scopes: ['analytics:write', 'boost:write', 'catalog:write'] },
]

/** What a secret in the wrong hands could do with these scopes: one sentence. */
export function reach(scopes: readonly Scope[]): string {
  if (scopes.length === 0) return 'Nothing is chosen yet. Choose only what this integration does.'
  const changing = scopes.filter((scope) => SCOPE_WORDS[scope].changes)
  if (changing.length === 0) return 'This client can read, and change nothing.'
  const acts = changing.map((scope) => SCOPE_WORDS[scope].title.toLowerCase())
  return `Whoever holds this client's secret can ${new Intl.ListFormat('en').format(acts)}.`
}
