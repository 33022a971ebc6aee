import { setTimeout as sleep } from 'node:timers/promises'
import type { Client } from './installation.ts'

export const CALLERS = 4
const PAUSE_MS = 50

export interface Counted {
  requests: number
  /** What was lost, and when it was sent, in seconds from the start. */
  losses: string[]
  seconds: number
}

/** Has the callers ask for tokens and read with them while `disturb` goes on. Returns what they lost. */
export async function underLoad(client: Client, disturb: () => Promise<unknown>): Promise<Counted> {
  const counted: Counted = { requests: 0, losses: [], seconds: 0 }
  const from_ms = performance.now()
  const elapsed_s = () => (performance.now() - from_ms) / 1_000
  const end = new AbortController()

  async function count(what: string, send: () => Promise<{ status?: number | undefined; body?: unknown }>) {
    const sent = elapsed_s().toFixed(1)
    counted.requests += 1
    const answer = await send().catch((error: Error) => ({ status: error.name, body: undefined }))
    if (answer.status !== 200) counted.losses.push(`${what}: ${answer.status}, sent at ${sent} s`)
    return answer.body as { access_token?: string } | undefined
  }
  async function call(): Promise<void> {
    while (!end.signal.aborted) {
      const { access_token } = (await count('token', client.token)) ?? {}
      if (access_token) await count('read', () => client.read(access_token))
      await sleep(PAUSE_MS)
    }
  }

  const callers = Array.from({ length: CALLERS }, call)
  try {
    await disturb()
  } finally {
    counted.seconds = elapsed_s()
    end.abort()
    await Promise.all(callers)
  }
  return counted
}
