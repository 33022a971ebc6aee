import type { Middleware } from 'koa'
import type { Metrics } from '#shared/process/metrics.ts'
import type { TestSender } from './callbacks/sender.ts'
import type { ApiState } from './http/state.ts'

const EVENTS_ROUTE = '/v1/analytics/:vendorId/events'

/** Counts each answer, and the events stored by a call, which its answer states. */
export function createMeasuringMiddleware(metrics: Metrics): Middleware<ApiState> {
  const help = 'Analytics events that integrators reported, by what became of them'
  const stored = metrics.counter('integration_events_total', help, { result: ['accepted', 'duplicate'] })
  return async (ctx, next) => {
    const started_ms = performance.now()
    await next()
    const { method, status } = ctx
    const route = ctx.state.route?.path ?? 'unmatched'
    metrics.answered({ route, method, status, duration_ms: performance.now() - started_ms })
    if (route !== EVENTS_ROUTE || status !== 200) return
    const { accepted, duplicates } = ctx.body as { accepted: number; duplicates: number }
    stored.inc({ result: 'accepted' }, accepted)
    stored.inc({ result: 'duplicate' }, duplicates)
  }
}

/** The sender that also counts the outcome of each test event. */
export function countedSender(sender: TestSender, { counter }: Metrics): TestSender {
  const help = 'Test events sent to callback addresses, by outcome'
  const outcome = ['success', 'receiver_failure', 'unconfirmed', 'stopped']
  const sent = counter('integration_test_sends_total', help, { outcome })
  return {
    ...sender,
    async send(event) {
      const ended = await sender.send(event)
      sent.inc({ outcome: ended.result?.outcome ?? 'stopped' })
      return ended
    },
  }
}
