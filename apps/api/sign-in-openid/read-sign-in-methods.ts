import { z } from 'zod'
import { anyone, route } from '../http/route.ts'
import type { BuiltInSetting } from '../sessions/access.ts'
import type { OpenidNeeds } from './access.ts'

const SignInMethods = z
  .object({
    builtInAccounts: z
      .boolean()
      .meta({ description: 'Whether `POST /v1/session` accepts email and password.' }),
    mail: z.boolean().meta({
      description: 'Whether invitations are mailed, and `POST /v1/password-reset` mails a link.',
    }),
    openid: z
      .object({ name: z.string() })
      .meta({ id: 'SignInProvider' })
      .nullable()
      .meta({ description: 'The OpenID provider for signing in, if there is one.' }),
  })
  .meta({ id: 'SignInMethods' })

export const readSignInMethodsRoute = route({
  method: 'get',
  path: '/v1/sign-in',
  operationId: 'readSignInMethods',
  tag: 'Session',
  summary: 'List the sign-in methods',
  description: 'For the sign-in page.',
  access: anyone,
  answers: { 200: { description: 'The sign-in methods.', schema: SignInMethods } },
  handle: async (
    _,
    { openid, builtInAccounts, mailIsOn }: OpenidNeeds & BuiltInSetting & { mailIsOn: boolean },
  ) => ({
    builtInAccounts,
    mail: mailIsOn,
    openid: openid ? { name: openid.settings.name } : null,
  }),
})
