import type { Access } from '../http/route.ts'
import { Problem } from '../problems/problems.ts'

export interface BuiltInSetting {
  /** Whether people may have a password here. */
  builtInAccounts: boolean
}

/** @throws Problem forbidden while there are no passwords. */
export function requireBuiltIn({ builtInAccounts }: BuiltInSetting): void {
  if (!builtInAccounts)
    throw new Problem('forbidden', 'Sign in with the OpenID provider: there are no passwords here.')
}

/** Admits anyone to what needs a password or sets one; no one while there are no passwords. */
export const builtIn: Access<object, BuiltInSetting> = {
  async admit(_, needs) {
    requireBuiltIn(needs)
    return {}
  },
  problems: ['forbidden'],
}
