import { performance } from 'node:perf_hooks'
import { systemClock } from '#shared/process/clock.ts'
import { createTestSender } from '../../apps/api/callbacks/sender.ts'

/*
 * A process that sends one test event to the URL of its first argument, whose host it takes for 127.0.0.1, trusting
 * the authority of its second. It prints the result and how much memory sending took, as one line of JSON.
 */
const [, , url = '', certificateAuthority = ''] = process.argv
const sender = createTestSender({
  clock: systemClock,
  resolve: async () => ({ addresses: ['127.0.0.1'], complete: true, failure: null }),
  judgeAddress: (address) =>
    address === '127.0.0.1' ? { public: true, address } : { public: false, reason: 'reserved' },
  certificateAuthority,
})
const before = process.memoryUsage.rss()
let peak = before
const watch = setInterval(() => {
  peak = Math.max(peak, process.memoryUsage.rss())
}, 5)
const started = performance.now()
const { result } = await sender.send({
  url,
  vendorId: 'ven_acme',
  signal: new AbortController().signal,
})
clearInterval(watch)
process.stdout.write(
  JSON.stringify({ result, grown_bytes: peak - before, took_ms: performance.now() - started }),
)
