/** All scopes. A client is given a subset when it is created; none can be added later. */
export const SCOPES = [
  'catalog:write',
  'analytics:read',
  'boost:read',
  'analytics:write',
  'boost:write',
] as const

export type Scope = (typeof SCOPES)[number]
