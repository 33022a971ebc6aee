import { dailyBesideFastify } from './daily.ts'
import { memoryUnderLoad, startAndIdleMemory } from './memory.ts'
import type { Row } from './row.ts'
import { tokenBesideFloor, tokenBesideProvider } from './token.ts'

/** Everything that can be measured, in the order of the table. */
export const ROWS: readonly Row[] = [
  { name: 'token endpoint, 10,000 clients', measure: tokenBesideFloor },
  { name: 'token endpoint beside oidc-provider', measure: tokenBesideProvider },
  { name: 'daily read beside Fastify', measure: dailyBesideFastify },
  { name: 'memory under load', isLong: true, measure: memoryUnderLoad },
  { name: 'start and idle memory', measure: startAndIdleMemory },
]
