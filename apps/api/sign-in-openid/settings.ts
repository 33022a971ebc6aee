import { z } from 'zod'
import { VENDOR_ID_PATTERN } from '#shared/oauth/ids.ts'
import { type Env, LOOPBACK_HOST } from '#shared/process/config.ts'
import { ASSIGNABLE_ROLES, type AssignableRole } from '../accounts/people.ts'

const ANY_COMPANY = '*'
const NAME_MAX_CHARACTERS = 60

/** OpenID Connect Core §2: https, without query and fragment. A trailing slash is significant. */
const providerIssuer = z.string().refine((text) => {
  const url = URL.parse(text)
  return url !== null && isAllowedUrl(url, { loopback: true }) && !/[?#@\s]/.test(text)
}, 'must be an https URL without user, query or fragment; http is allowed only for a loopback host')

/** @param loopback whether http is allowed on this machine, for development. */
export const isAllowedUrl = ({ protocol, hostname }: URL, { loopback }: { loopback: boolean }): boolean =>
  protocol === 'https:' || (loopback && protocol === 'http:' && LOOPBACK_HOST.test(hostname))

const claim = (fallback: string) =>
  z
    .string()
    .regex(/^[\x21-\x7e]{1,200}$/, 'must be the name of a claim: 1 to 200 ASCII characters, no spaces')
    .default(fallback)

/** Reads `claim=ours` pairs, separated by commas. A value alone means itself. The last pair wins. */
const pairs = (text: string): Map<string, string> =>
  new Map(
    text
      .split(',')
      .filter((part) => part.trim() !== '')
      .map((part) => {
        const at = part.lastIndexOf('=')
        return [part.slice(0, at < 0 ? undefined : at).trim(), part.slice(at + 1).trim()]
      }),
  )

const everyValue = (text: string, test: (value: string) => boolean): boolean => {
  const values = [...pairs(text).values()]
  return values.length > 0 && values.every(test)
}

const companies = z
  .string()
  .refine(
    (text) => text === ANY_COMPANY || everyValue(text, (id) => VENDOR_ID_PATTERN.test(id)),
    `must be company ids or claim=company pairs, separated by commas, or ${ANY_COMPANY}`,
  )
  .transform((text) => (text === ANY_COMPANY ? ('any' as const) : pairs(text)))

const roles = z
  .string()
  .refine(
    (text) => everyValue(text, (role) => (ASSIGNABLE_ROLES as readonly string[]).includes(role)),
    'must be roles (admin, viewer, member) or claim=role pairs, separated by commas; owners are never assigned this way',
  )
  .default(ASSIGNABLE_ROLES.join(','))
  .transform((text) => pairs(text) as Map<string, AssignableRole>)

const NONE = 'none'

export const openidShape = {
  OPENID_ISSUER: providerIssuer.optional().meta({
    fallback: NONE,
    description:
      'exact issuer of the OpenID provider that people sign in with. If set, the next three are required. The redirect URI is the workspace address followed by `/v1/session/openid/callback`',
  }),
  OPENID_CLIENT_ID: z
    .string()
    .max(500, 'must have at most 500 characters')
    .optional()
    .meta({ fallback: NONE, description: 'client id registered at the provider' }),
  OPENID_CLIENT_SECRET: z
    .string()
    .max(4_000, 'must have at most 4000 characters')
    .optional()
    .meta({ secret: true, fallback: NONE, description: 'its secret' }),
  OPENID_COMPANIES: companies.optional().meta({
    fallback: NONE,
    description:
      'companies that the provider serves: `ven_acme,ven_globex`, or by the value of the claim, `acme.com=ven_acme`. `*`: every company; the claim must be its id',
  }),
  OPENID_COMPANY_CLAIM: claim('company').meta({ description: 'the claim that identifies the company' }),
  OPENID_ROLE_CLAIM: claim('role').meta({
    description: 'the claim with the role, or a list such as groups; the highest known role applies',
  }),
  OPENID_ROLES: roles.meta({
    description:
      'roles for its values, such as `integration-admins=admin,developers=viewer,staff=member`; others are ignored',
  }),
  OPENID_EMAIL_VERIFIED: z.enum(['claim', 'always']).default('claim').meta({
    description:
      '`always`: the provider verifies every address but does not send `email_verified`. Without a verified address, new people are refused',
  }),
  OPENID_LINK_BY_EMAIL: z.enum(['off', 'on']).default('off').meta({
    description:
      '`on`: a first sign-in with the provider takes over the built-in account with the same verified address, if it is an active member of the claimed company',
  }),
  OPENID_SIGN_OUT: z.enum(['on', 'off']).default('on').meta({
    description:
      '`on`: signing out of the workspace leads on to signing out at the provider, if it has an `end_session_endpoint`. Register the address of the workspace with the path `/` there as a post-logout redirect URI',
  }),
  OPENID_SCOPE: z
    .string()
    .refine((text) => text.split(' ').includes('openid'), 'must contain openid, such as openid email profile')
    .max(1_000, 'must have at most 1000 characters')
    .default('openid email profile')
    .meta({ description: 'scopes requested from the provider' }),
  OPENID_NAME: z
    .string()
    .trim()
    .min(1, 'must not be blank')
    .max(NAME_MAX_CHARACTERS, `must have at most ${NAME_MAX_CHARACTERS} characters`)
    .default('your company account')
    .meta({ description: "the provider's name on the sign-in page: “Sign in with …”" }),
  BUILT_IN_ACCOUNTS: z.enum(['on', 'off']).default('on').meta({
    description: '`off`: people sign in only with the provider, without passwords or invitations',
  }),
}

const REQUIRED = ['OPENID_ISSUER', 'OPENID_CLIENT_ID', 'OPENID_CLIENT_SECRET', 'OPENID_COMPANIES'] as const

/** Returns `openidShape` for this environment. Once one setting is present, the required ones must be too. */
export function openidShapeFor(env: Env): typeof openidShape {
  const isConfigured =
    env.BUILT_IN_ACCOUNTS === 'off' ||
    Object.keys(openidShape).some((name) => name.startsWith('OPENID_') && (env[name] || env[`${name}_FILE`]))
  if (!isConfigured) return openidShape
  const required = REQUIRED.map((name) => {
    const optional = openidShape[name]
    return [name, optional.unwrap().meta(optional.meta() ?? {})]
  })
  return { ...openidShape, ...Object.fromEntries(required) }
}

type Values = z.infer<z.ZodObject<typeof openidShape>>

/** The OpenID provider for signing in, and what its claims mean here. */
export type OpenidSettings = NonNullable<ReturnType<typeof openidSettings>>

/** Returns undefined when no provider is configured. */
export function openidSettings(values: Values) {
  const {
    OPENID_ISSUER: issuer,
    OPENID_CLIENT_ID: clientId,
    OPENID_CLIENT_SECRET: clientSecret,
    OPENID_COMPANIES: companies,
  } = values
  if (!issuer || !clientId || !clientSecret || !companies) return undefined
  return {
    issuer,
    clientId,
    clientSecret,
    scope: values.OPENID_SCOPE,
    name: values.OPENID_NAME,
    companyClaim: values.OPENID_COMPANY_CLAIM,
    /** The company for each value of that claim. `any`: the value is the id of the company. */
    companies,
    roleClaim: values.OPENID_ROLE_CLAIM,
    roles: values.OPENID_ROLES,
    emailAlwaysVerified: values.OPENID_EMAIL_VERIFIED === 'always',
    linkByEmail: values.OPENID_LINK_BY_EMAIL === 'on',
    signOut: values.OPENID_SIGN_OUT === 'on',
  }
}
