import { spawnSync } from 'node:child_process'
import { globSync } from 'node:fs'
import { join } from 'node:path'
import { listNodes } from '../../support/citus.ts'

/*
 * Runs the tests of events and figures, and those of this folder, on databases of a Citus cluster. Its nodes
 * have to be on this machine, since the trial puts a network between them. One test counts statements with
 * pg_stat_statements, which they have to load. It uses the cluster's roles integration_auth, integration_api
 * and integration_operator, and changes their passwords.
 */

const ROOT = join(import.meta.dirname, '../../..')
const FILES = [
  'test/api/analytics/{housekeeping,revisions,store-events}.test.ts',
  'test/api/{daily-read-early,get-analytics-daily,housekeeping,post-analytics-events*}.test.ts',
  'test/admin/{analytics-import,analytics-import-command,company-erase,restore}.test.ts',
  'test/database/{constraints,database-rights}.test.ts',
  'test/trials/citus/*.trial.ts',
]
const LEFT_OUT: readonly [test: string, why: string][] = [
  [
    'makes a missing partition while writers continue',
    'Citus locks every partition for a writer, so a partition is made between two of them, or after two seconds not',
  ],
]

function stop(sentence: string): never {
  process.stderr.write(`${sentence}\n`)
  process.exit(1)
}

const url =
  process.env.CITUS_URL ??
  stop(
    'Set CITUS_URL to the URL, as a superuser, of a database on the coordinator of a Citus cluster with ' +
      'workers, such as postgres://postgres@127.0.0.1:5432/postgres.',
  )
const nodes = await listNodes(url)
if (nodes.length < 3 || nodes.some((node) => !['127.0.0.1', 'localhost'].includes(new URL(node).hostname)))
  stop('The cluster needs two workers, and all nodes on this machine, at 127.0.0.1.')

for (const [test, why] of LEFT_OUT) process.stdout.write(`Left out: "${test}": ${why}.\n`)
process.stdout.write(
  'Left out: test/api/analytics/plans.test.ts, about one Postgres: see "asks one shard".\n',
)
const args = [
  join(ROOT, 'node_modules/.bin/mocha'),
  ...['--fail-zero', '--invert', '--grep', LEFT_OUT.map(([test]) => test).join('|')],
  ...FILES.flatMap((pattern) => globSync(pattern, { cwd: ROOT }).sort()),
]
const env = { ...process.env, TEST_CITUS_URL: url }
process.exitCode = spawnSync(process.execPath, args, { cwd: ROOT, stdio: 'inherit', env }).status ?? 1
