import { systemClock } from '#shared/process/clock.ts'
import { createPostgres } from '#shared/stores/postgres.ts'
import { importEvents } from '../../infra/admin/analytics.ts'
import { testOperator } from '../support/operator.ts'

/*
 * Arguments: the URL of a database, a vendor_id and a file. Imports the file's events for the company, and
 * prints the result and the memory that it took, as one line of JSON.
 */
const [, , url = '', vendorId = '', file = ''] = process.argv
const db = createPostgres({ url, poolSize: 1, applicationName: 'import-once' })
await db.raw('select 1')
const before = process.memoryUsage.rss()
let peak = before
// Not resourceUsage().maxRSS: it starts with what the parent had.
const watch = setInterval(() => {
  peak = Math.max(peak, process.memoryUsage.rss())
}, 5)
const result = await importEvents({
  db,
  clock: systemClock,
  vendorId,
  by: testOperator(),
  file,
  onRefused: () => {},
})
clearInterval(watch)
await db.destroy()
process.stdout.write(JSON.stringify({ result, grown_bytes: peak - before }))
