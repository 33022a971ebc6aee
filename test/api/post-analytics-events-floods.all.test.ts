import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { sharedApi } from '../support/api.ts'
import { createEvents, createSender, type Sender } from '../support/event-sender.ts'
import { freePort } from '../support/ports.ts'
import { type ServiceChild, startServiceChild } from '../support/process.ts'

const MEBIBYTE = 1_024 * 1_024
const COMPANIES = 20
const CALLS_EACH = 15
/** Half of what the bodies of all calls take. */
const HEAP_MIB = 150
const MEMORY_LIMIT_MIB = 400
/** This many stored calls show that the queue moves. The others are then aborted. */
const ENOUGH = 2 * COMPANIES
/** No call can be stored for this long. */
const GATE_MS = 1_200

describe('a flood at POST /v1/analytics/{vendor_id}/events', () => {
  const api = sharedApi()
  let child: ServiceChild
  let url: string
  before(async () => {
    api.clock.set(Date.now())
    const port = await freePort()
    url = `http://127.0.0.1:${port}`
    child = startServiceChild('apps/api/main.ts', {
      ...api.env,
      NODE_OPTIONS: `--max-old-space-size=${HEAP_MIB}`,
      PORT: String(port),
    })
    await child.logged('listening')
  })
  after(async () => {
    // What was called off may have arrived all the same; nobody waits for it.
    child.process.kill('SIGKILL')
    await child.exit
  })

  const resident_mib = async () =>
    Number(/VmHWM:\s+(\d+) kB/.exec(await readFile(`/proc/${child.process.pid}/status`, 'utf8'))?.[1]) / 1_024

  const send = async (sender: Sender, body: RequestInit['body'], signal: AbortSignal) => {
    const response = await fetch(`${url}/v1/analytics/${sender.vendorId}/events`, {
      method: 'POST',
      headers: { authorization: `Bearer ${await sender.token()}`, 'content-type': 'application/json' },
      body: body as NonNullable<RequestInit['body']>,
      signal,
    })
    await response.text()
    return { status: response.status, retryAfter: Number(response.headers.get('retry-after')) }
  }

  it('survives a flood of many companies, a mebibyte a call, in little memory', async () => {
    const { click } = createEvents(api)
    const events = Array.from({ length: 10 }, () => click({ occurredAt: new Date().toISOString() }))
    const body = JSON.stringify({ events }).padEnd(MEBIBYTE)
    const senders = await Promise.all(Array.from({ length: COMPANIES }, () => createSender(api)))
    const gate = await api.db.transaction()
    await gate.raw('lock table analytics_daily in exclusive mode')
    const enough = new AbortController()
    let stored = 0
    const call = async (sender: Sender) => {
      const { status, retryAfter } = await send(sender, body, enough.signal)
      if (status === 200) stored += 1
      if (stored === ENOUGH) enough.abort()
      return { status, retryAfter }
    }
    const calls = senders.flatMap((sender) => Array.from({ length: CALLS_EACH }, () => call(sender)))
    const ended = Promise.allSettled(calls)
    await sleep(GATE_MS)
    await gate.rollback()
    const outcomes = await ended
    assert.equal(child.process.exitCode, null, child.stderr())
    for (const outcome of outcomes) {
      if (outcome.status === 'rejected') {
        assert.equal(outcome.reason.name, 'AbortError', outcome.reason)
        continue
      }
      const { status, retryAfter } = outcome.value
      // 408: on a busy machine a body may take longer to send than the API waits for it.
      assert.ok(status === 200 || status === 408 || (status === 503 && retryAfter > 0), String(status))
    }
    assert.ok(stored >= COMPANIES, `only ${stored} were stored`)
    assert.ok((await resident_mib()) < MEMORY_LIMIT_MIB, `${await resident_mib()} MiB`)
  })
})
