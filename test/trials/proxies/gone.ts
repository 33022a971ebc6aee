import { execFile } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { type Count, type Counted, reportLosses, underLoad } from '../load.ts'
import { startInstances } from './answers.ts'
import { CONFIGURATIONS } from './configuration.ts'
import { startProxy } from './proxy.ts'

/*
 * A host with one instance of each service vanishes under load: no connection is refused or reset, packets just get no
 * answer. Runs in a network namespace of its own (main.ts), where the host is an address that is taken away. Only what
 * was on its way to the host may be lost, at most one request of each caller.
 */
const CALLERS = 6
const GONE_MS = 12_000
/** A caller gives up after this. */
const ANSWER_MS = 5_000
const PORT = 8_080
const STAYING = '127.0.0.1'
const LEAVING = '192.0.2.2'

const ip = async (command: string): Promise<void> => {
  await promisify(execFile)('ip', command.split(' '))
}

/** Without the address of LEAVING, its packets go into a cable whose other end answers nothing. */
async function layCable(): Promise<void> {
  await ip('link set lo up')
  await ip('link add cable type veth peer name end')
  await ip('link set dev cable arp off')
  await ip('address add 192.0.2.1/24 dev cable')
  await ip('link set dev end up')
  await ip('link set dev cable up')
  await ip(`address add ${LEAVING}/32 dev lo`)
}

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

async function hostGone(name: 'nginx' | 'haproxy'): Promise<Counted> {
  using instances = await startInstances([STAYING, LEAVING, STAYING, LEAVING])
  const configuration = CONFIGURATIONS[name]({
    auth: instances.at.slice(0, 2),
    api: instances.at.slice(2),
    listen: `127.0.0.1:${PORT}`,
    workspace: name === 'nginx' ? '/tmp' : '127.0.0.1:1',
  })
  await using _proxy = await startProxy(name, PORT, configuration)
  await sleep(2_000)
  return await underLoad(CALLERS, call, async () => {
    await sleep(2_000)
    await ip(`address del ${LEAVING}/32 dev lo`)
    await sleep(GONE_MS)
    await ip(`address add ${LEAVING}/32 dev lo`)
    await sleep(2_000)
  })
}

await layCable()
for (const name of ['nginx', 'haproxy'] as const)
  reportLosses(`${name}: a host is gone from 2 s on`, CALLERS, await hostGone(name))
process.exit()
