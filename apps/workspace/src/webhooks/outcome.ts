import type { TestSendResult } from '../api/contract.ts'

export interface Verdict {
  tone: 'good' | 'bad' | 'warn'
  title: string
  /** Whether any byte of the event can have left. */
  sent: boolean
}

/** The event follows the TLS handshake, so without that nothing was sent. */
export function verdictOf({ outcome, status, timings }: TestSendResult): Verdict {
  const sent = timings.tlsMs !== null || status !== null
  if (outcome === 'success')
    return { tone: 'good', sent, title: `Delivered: your receiver answered ${status}` }
  if (outcome === 'receiver_failure')
    return { tone: 'bad', sent, title: `Your receiver rejected the event (${status})` }
  return sent
    ? { tone: 'warn', sent, title: 'No answer: the event may not have arrived' }
    : {
        tone: 'warn',
        sent,
        title: `Not sent: no ${timings.connectMs === null ? '' : 'secure '}connection to your receiver`,
      }
}
