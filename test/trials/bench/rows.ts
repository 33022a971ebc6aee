import { dailyBesideFastify, dailyBesideKoa } from './daily.ts'
import { forgedTokens, revokedTokens, wrongSecrets } from './flood.ts'
import { growthByClients, growthByDays } from './growth.ts'
import { ingest } from './ingest.ts'
import { memoryUnderLoad, startAndIdleMemory } from './memory.ts'
import { revocationFeed } from './revocation-feed.ts'
import type { Row } from './row.ts'
import { assertions, introspection, tokenBesideFloor, tokenBesideProvider, unmetClients } from './token.ts'

/** Everything that can be measured, in the order of the table. */
export const ROWS: readonly Row[] = [
  { name: 'token endpoint, 10,000 clients', measure: tokenBesideFloor },
  { name: 'token endpoint, unmet clients', measure: unmetClients },
  { name: 'token endpoint beside oidc-provider', measure: tokenBesideProvider },
  { name: 'token endpoint, assertions', measure: assertions },
  { name: 'introspection', measure: introspection },
  { name: 'page of revocations', measure: revocationFeed },
  { name: 'daily read beside Fastify', measure: dailyBesideFastify },
  { name: 'daily read beside bare Koa', measure: dailyBesideKoa },
  { name: 'refusal of wrong secrets', measure: wrongSecrets },
  { name: 'refusal of revoked tokens', measure: revokedTokens },
  { name: 'refusal of forged tokens', measure: forgedTokens },
  { name: 'event ingest', measure: ingest },
  { name: 'growth: clients', part: 'growth', measure: growthByClients },
  { name: 'growth: days', part: 'growth', measure: growthByDays },
  { name: 'memory', part: 'memory', measure: memoryUnderLoad },
  { name: 'start and idle memory', measure: startAndIdleMemory },
]
