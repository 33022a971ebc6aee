import { mochaGlobalSetup, mochaGlobalTeardown } from '../../support/servers.ts'
import { reportChecks } from '../checks.ts'
import { pooled } from './pooler.ts'
import { promotion } from './promotion.ts'
import { pointInTime } from './recovery.ts'

/*
 * What takes too long for every run of the tests, or needs what not every machine has: recovery of Postgres to a point
 * in time, promotion of an asynchronous standby, and the services behind PgBouncer in transaction mode
 * (apt-get install pgbouncer). `npm run test:stores -- NAME` runs one of them.
 */
const parts = { recovery: pointInTime, promotion, pooler: pooled }
const only = process.argv[2]
await mochaGlobalSetup()
try {
  for (const [name, part] of Object.entries(parts))
    if (only === undefined || only === name) reportChecks(name, await part())
} finally {
  await mochaGlobalTeardown()
}
