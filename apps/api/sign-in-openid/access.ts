import type { Access } from '../http/route.ts'
import { Problem } from '../problems/problems.ts'
import type { ConfiguredOpenid } from './provider.ts'

export interface OpenidNeeds {
  /** undefined: people only sign in with built-in accounts. */
  openid: ConfiguredOpenid | undefined
}

/** Admits anyone where an OpenID provider is configured. */
export const requireOpenid: Access<{ configured: ConfiguredOpenid }, OpenidNeeds> = {
  async admit(_, { openid }) {
    if (!openid) throw new Problem('not_found', 'No OpenID provider is configured here.')
    return { configured: openid }
  },
  problems: ['not_found'],
}
