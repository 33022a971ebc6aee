import { z } from 'zod'
import { commonShape, integer, keyEncryptionKey, rate, readServiceConfig } from '#shared/process/config.ts'

export const authShape = {
  ...commonShape,
  PORT: integer(0, 65_535, 8081).meta({ description: 'port to listen on' }),
  KEY_ENCRYPTION_KEY: keyEncryptionKey.meta({
    secret: true,
    description:
      'encrypts the private signing keys in the database: 32 bytes in base64. To replace it, give several keys separated by commas, newest first: the first encrypts, the others only decrypt',
  }),
  SIGNING_ALG: z
    .enum(['ES256', 'RS256'])
    .default('ES256')
    .meta({ description: 'algorithm of the first signing keys: ES256 or RS256' }),
  RATE_TOKEN_PER_CLIENT: rate('3000/60').meta({ description: 'token requests by an authenticated client' }),
  RATE_TOKEN_REVOCATIONS_PER_CLIENT: rate('300/60').meta({ description: 'token revocations by a client' }),
  RATE_TOKEN_REVOCATIONS_PER_COMPANY: rate('60/60').meta({
    description: 'token revocations by all clients of a company',
  }),
  RATE_ASSERTIONS_PER_COMPANY: rate('6000/60').meta({
    description: 'assertions used by all clients of a company, each kept in Redis until it has expired',
  }),
  RATE_INTROSPECTIONS_PER_SERVICE: rate('30000/60').meta({
    description: 'introspections by a registered service',
  }),
  RATE_TOKEN_FAILURES_PER_ADDRESS: rate('300/60').meta({
    description: 'failed authentications of clients and services from an address (IPv6: a /64)',
  }),
}

export type AuthConfig = Readonly<z.infer<z.ZodObject<typeof authShape>>>

export const readAuthConfig = (env: Record<string, string | undefined>): AuthConfig =>
  readServiceConfig(env, authShape)
