import { assertionRows } from './assertion.ts'
import { dailyRows } from './daily.ts'
import { floodRows } from './flood.ts'
import { growthRows } from './growth.ts'
import { ingestRows } from './ingest.ts'
import { introspectionRows } from './introspection.ts'
import { memoryRows } from './memory.ts'
import { revocationFeedRows } from './revocation-feed.ts'
import type { Row } from './row.ts'
import { startRows } from './start.ts'
import { tokenRows } from './token.ts'

/** Everything that can be measured, in the order of the table. */
export const ROWS: readonly Row[] = [
  ...tokenRows,
  ...assertionRows,
  ...introspectionRows,
  ...revocationFeedRows,
  ...dailyRows,
  ...floodRows,
  ...ingestRows,
  ...growthRows,
  ...memoryRows,
  ...startRows,
]
