/** The scopes that exist. A client is given a subset of them when it is created; nothing adds one later. */
export const SCOPES = [
  'catalog:write',
  'analytics:read',
  'boost:read',
  'analytics:write',
  'boost:write',
] as const

export type Scope = (typeof SCOPES)[number]
