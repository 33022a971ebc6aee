import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type ClientRequest, request as httpRequest, type IncomingMessage } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { type ApiResponse, sharedApi, startApi, type TestApi } from '../support/api.ts'
import { forEachTest } from '../support/block.ts'
import { assertStored, createEvents, createSender, type Sender } from '../support/event-sender.ts'
import { eventually } from '../support/eventually.ts'
import { assertInvalid, assertProblem } from '../support/problem.ts'

const EVENTS_PER_MINUTE = 1_500
/** What the bodies of all calls may take at once; two calls of a company are taken at a time. */
const ROOM_MIB = 32
/** Many times what a call takes that need not wait. */
const ANSWERED_MS = 500
/** Before a silent body is given up. */
const FILLED_MS = 2_000

describe('the limit of events at POST /v1/analytics/{vendor_id}/events', () => {
  const api = sharedApi({ env: { RATE_API_EVENTS_PER_CLIENT: `${EVENTS_PER_MINUTE}/60` } })
  const { click } = createEvents(api)
  const company = forEachTest(() => createSender(api))

  const clicks = (length: number) => Array.from({ length }, () => click())

  it('counts events, not calls, and reports what is left', async () => {
    const response = await company.send(...clicks(900))
    assertStored(response, 900)
    const policy = response.headers.get('ratelimit-policy') ?? ''
    assert.match(policy, /"api-client";q=6000;w=60, "api-events";q=1500;w=60/)
    const left = response.headers.get('ratelimit') ?? ''
    assert.match(left, /"api-client";r=5999;t=\d+, "api-events";r=600;t=\d+/)
    assertStored(await company.send(...clicks(600)), 600)
  })

  it('refuses a call with more events than are left, whole; those that are left are still taken', async () => {
    assertStored(await company.send(...clicks(1_000)), 1_000)
    const tooMany = await company.send(...clicks(501))
    assertProblem(tooMany, 'rate_limited')
    assert.match(tooMany.headers.get('ratelimit') ?? '', /^"api-events";r=500;t=\d+$/)
    assertStored(await company.send(...clicks(500)), 500)
    for (const events of [clicks(501), [click()]]) {
      const response = await company.send(...events)
      assertProblem(response, 'rate_limited')
      assert.match(response.headers.get('ratelimit') ?? '', /^"api-events";r=0;t=\d+$/)
      const wait_s = Number(response.headers.get('retry-after'))
      assert.ok(wait_s >= 1 && wait_s <= 60, `Retry-After ${wait_s}`)
    }
    assert.equal((await company.read()).json.totals.clicks, 1_500)
  })

  it('counts the events of a call that is refused for what is in them', async () => {
    for (const status of [422, 429, 429]) {
      const response = await company.send(...clicks(800).map((event) => ({ ...event, type: 'view' })))
      assert.equal(response.status, status)
    }
  })

  it('counts a body that is no list of events as a full call', async () => {
    assertProblem(await company.post('{'), 'malformed_json')
    assertInvalid(await company.post({}), '/events')
    assertProblem(await company.send(click()), 'rate_limited')
  })

  it('refuses a client that has none left before its body is read', async () => {
    assertStored(await company.send(...clicks(750)), 750)
    assertStored(await company.send(...clicks(750)), 750)
    const { request, answered } = await begin(company, api)
    assert.equal((await answered).statusCode, 429)
    request.destroy()
  })

  it('limits each client of a company separately', async () => {
    assertStored(await company.send(...clicks(1_000)), 1_000)
    const { vendorId } = company
    const { clientId } = await api.createClient({ vendorId, scopes: ['analytics:write'] })
    const token = await api.issuer.token({ clientId, vendorId, scope: 'analytics:write' })
    const body = { events: clicks(501) }
    assertStored(await api.request('POST', `/v1/analytics/${vendorId}/events`, { token, body }), 501)
  })
})

/** Begins a call and sends its header section only. */
async function begin(sender: Sender, api: TestApi) {
  const authorization = `Bearer ${await sender.token()}`
  const headers = { authorization, 'content-type': 'application/json', 'content-length': 1_048_576 }
  const url = `${api.url}/v1/analytics/${sender.vendorId}/events`
  const request: ClientRequest = httpRequest(url, { method: 'POST', headers })
  request.on('error', () => {})
  request.flushHeaders()
  const answered: Promise<IncomingMessage> = once(request, 'response').then(([response]) => response.resume())
  return { request, answered }
}

describe('slow bodies at POST /v1/analytics/{vendor_id}/events', () => {
  const api = sharedApi()
  const { click } = createEvents(api)

  it('delays only calls of the slow sender’s company, and not for long', async () => {
    const [slow, neighbour] = await Promise.all([createSender(api), createSender(api)])
    const stalled = await Promise.all(Array.from({ length: 2 }, () => begin(slow, api)))
    const givenUp = Promise.race(stalled.map(({ answered }) => answered)).then(() => 'given up' as const)
    // A call that is answered before came when the stalled ones did not have their places yet.
    let behind: Promise<ApiResponse>
    let overtaken: number
    let first: ApiResponse | 'given up' | undefined
    do {
      behind = slow.send(click())
      overtaken = 0
      first = undefined
      Promise.race([behind, givenUp]).then((answer) => {
        first = answer
      })
      for (; first === undefined; await sleep(50)) {
        assertStored(await neighbour.send(click()), 1)
        assert.equal((await slow.read()).status, 200)
        if (first === undefined) overtaken += 1
      }
    } while (first !== 'given up')
    assert.ok(overtaken > 0, 'no call of the neighbour was stored meanwhile')
    for (const { answered } of stalled) assert.equal((await answered).statusCode, 408)
    assertStored(await behind, 1)
  })

  it('refuses the last of too many waiting calls, and gives another company a place', async () => {
    const [slow, neighbour] = await Promise.all([createSender(api), createSender(api)])
    const stalled = await Promise.all(Array.from({ length: 2 + 200 + 5 }, () => begin(slow, api)))
    const answers: IncomingMessage[] = []
    for (const { answered } of stalled) answered.then((answer) => answers.push(answer)).catch(() => {})
    // Those that have a place are answered too, if sending all of this takes that long: 408.
    const refused = () => answers.filter(({ statusCode }) => statusCode !== 408)
    while (refused().length < 5) await sleep(10)
    for (const { statusCode, headers } of refused()) {
      assert.equal(statusCode, 503)
      assert.ok(Number(headers['retry-after']) > 0)
    }
    assertStored(await neighbour.send(click()), 1)
    for (const { request, answered } of stalled) {
      answered.catch(() => {})
      request.destroy()
    }
  })

  it('lets the next one in when a caller goes away in the middle of its body', async () => {
    const sender = await createSender(api)
    const begun = await Promise.all(Array.from({ length: 2 }, () => begin(sender, api)))
    for (const { request, answered } of begun) {
      answered.catch(() => {})
      request.write(' ')
    }
    const behind = sender.send(click())
    for (const { request } of begun) request.destroy()
    assertStored(await behind, 1)
    // Two that were given up for their silence would have got a 408.
    const problems = api.logLines
      .map((line) => JSON.parse(line))
      .filter(({ vendorId, problem }) => vendorId === sender.vendorId && problem)
      .map(({ problem }) => problem)
    assert.ok(!problems.includes('request_timeout'), problems.join())
  })
})

describe('a call to POST /v1/analytics/{vendor_id}/events that does not say how long its body is', () => {
  it('reserves a mebibyte for a body of unknown length, and others wait when there is none left', async () => {
    await using api = await startApi()
    const { click } = createEvents(api)
    const small = JSON.stringify({ events: [click()] })
    const send = async ({ vendorId, token }: Sender, body: string | ReadableStream) =>
      fetch(`${api.url}/v1/analytics/${vendorId}/events`, {
        method: 'POST',
        headers: { authorization: `Bearer ${await token()}`, 'content-type': 'application/json' },
        body,
        duplex: 'half',
      } as RequestInit)
    const senders = await Promise.all(Array.from({ length: ROOM_MIB / 2 }, () => createSender(api)))
    const other = await createSender(api)
    assert.equal((await send(other, small)).status, 200)
    let ends: (() => void)[]
    const chunked = (sender: Sender) => {
      const start = (stream: ReadableStreamDefaultController) => {
        // Its head is sent together with the first byte.
        stream.enqueue(Buffer.from(small.slice(0, 1)))
        ends.push(() => {
          stream.enqueue(Buffer.from(small.slice(1)))
          stream.close()
        })
      }
      return send(sender, new ReadableStream({ start }))
    }
    /**
     * Whether the other request waited while these held all the room. 408 if a busy machine ended them late.
     */
    async function waitsForRoom(): Promise<boolean> {
      ends = []
      const held = Promise.all(senders.flatMap((sender) => [chunked(sender), chunked(sender)]))
      let last: Promise<Response>
      let first: unknown
      // One that arrives before all of these have their room is answered.
      const end_ms = performance.now() + FILLED_MS
      do {
        last = send(other, small)
        first = await Promise.race([last, sleep(ANSWERED_MS, 'waits')])
      } while (first !== 'waits' && performance.now() < end_ms)
      for (const end of ends) end()
      const statuses = [...(await held), await last].map(({ status }) => status)
      const answered = statuses.filter((status) => status !== 408)
      assert.deepEqual([...new Set(answered)], [200])
      return first === 'waits' && answered.length === statuses.length
    }
    await eventually(waitsForRoom, { otherwise: () => 'the room was never full' })
  })
})
