import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { networkInterfaces } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Count, underLoad } from '../load.ts'
import { startInstances } from './instances.ts'
import { startNginx } from './nginx.ts'

/*
 * A host with one instance of each service vanishes under load: no connection is refused or reset, packets
 * just get no answer. Runs in a network namespace of its own (unshare), where the host is an address that is
 * taken away. Only what was on its way to the host may be lost, at most one request of each caller.
 */
const CALLERS = 6
const GONE_MS = 12_000
/** A caller gives up after this. */
const ANSWER_MS = 5_000
const PORT = 8_080
const STAYING = '127.0.0.1'
const LEAVING = '192.0.2.2'

const ip = (command: string) => execFileSync('ip', command.split(' '))

// For other files of this run too: a new namespace does not even have loopback up.
before(() => {
  assert.deepEqual(
    Object.keys(networkInterfaces()),
    [],
    'run it by npm run test:proxies, apart from this network',
  )
  ip('link set lo up')
  // Without the address of LEAVING, its packets go into a cable whose other end answers nothing.
  ip('link add cable type veth peer name end')
  ip('link set dev cable arp off')
  ip('address add 192.0.2.1/24 dev cable')
  ip('link set dev end up')
  ip('link set dev cable up')
  ip(`address add ${LEAVING}/32 dev lo`)
})

async function call(count: Count): Promise<void> {
  for (const [method, path] of [
    ['POST', '/v1/oauth/token'],
    ['GET', '/v1/session'],
    ['POST', '/v1/events'],
  ] as const)
    await count(`${method} ${path}`, async () => {
      const signal = AbortSignal.timeout(ANSWER_MS)
      const body = method === 'POST' ? 'x=1' : null
      const response = await fetch(`http://127.0.0.1:${PORT}${path}`, { method, signal, body })
      return { status: response.status, body: await response.text() }
    })
}

it('loses only what was on its way to a host that is gone', async () => {
  using instances = await startInstances([STAYING, LEAVING, STAYING, LEAVING])
  await using _proxy = await startNginx({ ...instances, port: PORT, workspace: '/tmp' })
  await sleep(2_000)
  const { requests, losses } = await underLoad(CALLERS, call, async () => {
    await sleep(2_000)
    ip(`address del ${LEAVING}/32 dev lo`)
    await sleep(GONE_MS)
    ip(`address add ${LEAVING}/32 dev lo`)
    await sleep(2_000)
  })
  assert.ok(losses.length <= CALLERS, `${losses.length} of ${requests} lost: ${losses.join('; ')}`)
})
