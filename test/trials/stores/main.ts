import { mochaGlobalSetup, mochaGlobalTeardown } from '../../support/servers.ts'
import { dumped } from './dump.ts'
import { pooled } from './pooler.ts'
import { promotion } from './promotion.ts'
import { pointInTime } from './recovery.ts'
import { upgraded } from './upgrade.ts'

/*
 * What takes too long for every run of the tests, or needs what not every machine has: recovery of Postgres to a point
 * in time, promotion of an asynchronous standby, a dump restored on another server (apt-get install postgresql), an
 * upgrade under load (of this release to migrations made up for it), and the services behind PgBouncer in
 * transaction mode (apt-get install pgbouncer). `npm run test:stores -- NAME` runs one of them. The second release adds
 * another: the release before and the new one on one database, before, during and after the migration.
 */
const parts = {
  recovery: pointInTime,
  promotion,
  dump: dumped,
  upgrade: upgraded,
  pooler: pooled,
}
const only = process.argv[2]
await mochaGlobalSetup()
try {
  for (const [name, part] of Object.entries(parts))
    if (only === undefined || only === name)
      for (const [what, holds] of await part()) {
        process.stdout.write(`${holds ? 'ok' : 'FAILED'}: ${name}: ${what}\n`)
        if (!holds) process.exitCode = 1
      }
} finally {
  await mochaGlobalTeardown()
}
