import { execFile } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { startInstances } from './answers.ts'
import { haproxyConfiguration, nginxConfiguration } from './configuration.ts'
import { startProxy } from './proxy.ts'

/*
 * A host with one instance of each service vanishes under load: no connection is refused or reset, packets just get no
 * answer. Runs in a network namespace of its own (main.ts), where the host is an address that is taken away. Only what
 * was on its way to the host may be lost, at most one request of each caller.
 */
const CALLERS = 6
const PAUSE_MS = 50
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

interface Loss {
  what: string
  /** When the request was sent, from when the host was gone. */
  sent_ms: number
}

interface Load {
  requests: number
  losses: Loss[]
}

async function call(load: Load, goneAt_ms: () => number, stopped: AbortSignal): Promise<void> {
  while (!stopped.aborted)
    for (const [method, path] of [
      ['POST', '/v1/oauth/token'],
      ['GET', '/v1/session'],
      ['POST', '/v1/events'],
    ] as const) {
      const sentAt_ms = performance.now()
      const init = {
        method,
        signal: AbortSignal.timeout(ANSWER_MS),
        ...(method === 'POST' && { body: 'x=1' }),
      }
      const status = await fetch(`http://127.0.0.1:${PORT}${path}`, init)
        .then(async (response) => {
          await response.text()
          return response.status
        })
        .catch((error: Error) => error.name)
      load.requests += 1
      if (status !== 200)
        load.losses.push({ what: `${method} ${path}: ${status}`, sent_ms: sentAt_ms - goneAt_ms() })
      await sleep(PAUSE_MS)
    }
}

async function hostGone(name: 'nginx' | 'haproxy'): Promise<Load> {
  const instances = await startInstances([STAYING, LEAVING, STAYING, LEAVING])
  const installation = {
    auth: instances.at.slice(0, 2),
    api: instances.at.slice(2),
    listen: `127.0.0.1:${PORT}`,
  }
  const configuration =
    name === 'nginx'
      ? nginxConfiguration({ ...installation, workspace: '/tmp' })
      : haproxyConfiguration({ ...installation, workspace: '127.0.0.1:1' })
  const proxy = await startProxy(name, PORT, configuration)
  const load: Load = { requests: 0, losses: [] }
  const stopping = new AbortController()
  let goneAt_ms = Number.POSITIVE_INFINITY
  try {
    await sleep(2_000)
    const callers = Array.from({ length: CALLERS }, () => call(load, () => goneAt_ms, stopping.signal))
    await sleep(2_000)
    await ip(`address del ${LEAVING}/32 dev lo`)
    goneAt_ms = performance.now()
    await sleep(GONE_MS)
    await ip(`address add ${LEAVING}/32 dev lo`)
    await sleep(2_000)
    stopping.abort()
    await Promise.all(callers)
  } finally {
    instances.stop()
    await proxy.stop()
  }
  return load
}

await layCable()
for (const name of ['nginx', 'haproxy'] as const) {
  const { requests, losses } = await hostGone(name)
  const holds = losses.length <= CALLERS
  if (!holds) process.exitCode = 1
  process.stdout.write(
    `${holds ? 'ok' : 'FAILED'}: ${name}: host gone: ${losses.length} of ${requests} requests lost\n`,
  )
  for (const { what, sent_ms } of losses) process.stdout.write(`  ${what}, sent at ${sent_ms.toFixed()} ms\n`)
}
process.exit()
