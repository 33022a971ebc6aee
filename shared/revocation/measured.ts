import type { Metrics } from '#shared/process/metrics.ts'
import type { Revocation } from './revocation.ts'

/** Who decided about revocations. */
export function measureDecisions(metrics: Metrics, revocation: Revocation): void {
  metrics.counterOf(
    {
      name: 'revocation_decisions_total',
      help: 'Questions about a revocation, by the store that decided; neither: the answer was 503',
      labels: ['by'],
    },
    () => Object.entries(revocation.counts()).map(([by, value]) => ({ labels: { by }, value })),
  )
}
