import { eventually } from '../../support/eventually.ts'
import type { Instance } from './instance.ts'

const MINUTE_MS = 60_000

/** Waits until an instance has logged an event, with this text in its line. */
export const logs = (instance: Instance, event: string, text = '') =>
  eventually(
    () => instance.log().some((line) => line.event === event && JSON.stringify(line).includes(text)),
    { limit_ms: MINUTE_MS, otherwise: () => `the log has no ${event} with "${text}"` },
  )

/** Waits until /readyz answers so. */
export const says = (instance: Instance, status: number, text: string) =>
  eventually(
    async () => {
      const answer = await instance.readiness()
      return answer?.status === status && answer.text.includes(text)
    },
    { limit_ms: MINUTE_MS, otherwise: () => `/readyz never answers ${status} with ${text}` },
  )
