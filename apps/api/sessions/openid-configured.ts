import { Problem } from '#shared/problems/problems.ts'
import type { Access } from '../http/route.ts'
import type { ApiContext } from '../http/state.ts'
import { createOpenidProvider } from './openid-provider.ts'
import type { OpenidSettings } from './openid-settings.ts'
import { createOpenidTransactions } from './openid-transaction.ts'

export const CALLBACK_PATH = '/v1/session/openid/callback'

/** The OpenID provider that people sign in with. */
export type ConfiguredOpenid = ReturnType<typeof configureOpenid>

export const configureOpenid = (
  settings: OpenidSettings,
  { db, clock, baseUrl }: Omit<Parameters<typeof createOpenidTransactions>[0], 'issuer'>,
) => ({
  settings,
  provider: createOpenidProvider({ settings, clock, baseUrl, redirectUri: baseUrl + CALLBACK_PATH }),
  transactions: createOpenidTransactions({ db, clock, baseUrl, issuer: settings.issuer }),
})

/** Admits anyone whom `check` does not refuse, where a provider is configured. */
export const whereConfigured = (
  configured: ConfiguredOpenid | undefined,
  check: (ctx: ApiContext) => void = () => {},
): Access<{ configured: ConfiguredOpenid }> => ({
  async admit(ctx) {
    if (!configured) throw new Problem('not_found', 'No OpenID provider is configured here.')
    check(ctx)
    return { configured }
  },
  problems: ['not_found'],
})
