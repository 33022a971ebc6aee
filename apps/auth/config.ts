import { z } from 'zod'
import { commonShape, integer, keyEncryptionKey, rate, readConfig } from '#shared/process/config.ts'

const shape = {
  ...commonShape,
  PORT: integer(0, 65_535, 8081),
  KEY_ENCRYPTION_KEY: keyEncryptionKey,
  SIGNING_ALG: z.enum(['ES256', 'RS256']).default('ES256'),
  RATE_TOKEN_PER_CLIENT: rate('3000/60'),
  RATE_TOKEN_REVOCATIONS_PER_CLIENT: rate('300/60'),
  RATE_TOKEN_FAILURES_PER_ADDRESS: rate('300/60'),
}

export type AuthConfig = Readonly<z.infer<z.ZodObject<typeof shape>>>

/** @throws ConfigError naming every variable that is missing or wrong. */
export const readAuthConfig = (env: Record<string, string | undefined>): AuthConfig => readConfig(env, shape)
