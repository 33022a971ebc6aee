import { setTimeout as sleep } from 'node:timers/promises'
import { EXIT_USAGE } from '../exit-codes.ts'
import { isRunning } from '../is-running.ts'

/*
 * ExecStartPost of the systemd units. Exits once the service is ready, so that `systemctl restart` returns
 * then, and a rolling restart is that command on one machine after the other. Fails if the service has exited
 * or is not ready within 80 s, which is below systemd's own limit of 90 s. The argument is the port if PORT
 * is not set.
 */
const DEADLINE_MS = 80_000
const EVERY_MS = 250
const ANSWER_MS = 3_000
const ANYWHERE: Record<string, string> = { '0.0.0.0': '127.0.0.1', '::': '[::1]' }

// As for the service, a variable that is empty is not set.
const HOST = process.env.HOST || '127.0.0.1'
const port = process.env.PORT || process.argv[2]
const { MAINPID } = process.env
const host = ANYWHERE[HOST] ?? (HOST.includes(':') ? `[${HOST}]` : HOST)
const url = `http://${host}:${port}/readyz`
if (!port || !URL.canParse(url)) {
  process.stderr.write('Set PORT, or give the port: infra/node infra/deploy/wait-until-ready.ts 8081\n')
  process.exit(EXIT_USAGE)
}

const isServiceRunning = () => MAINPID === undefined || isRunning(Number(MAINPID))

let last = 'no answer'
async function isReady(): Promise<boolean> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(ANSWER_MS) })
    last = await response.text()
    return response.ok
  } catch {
    return false
  }
}

const end_ms = performance.now() + DEADLINE_MS
let ready = false
while (!ready && isServiceRunning() && performance.now() < end_ms) {
  ready = await isReady()
  if (!ready) await sleep(EVERY_MS)
}
if (!ready) {
  process.stderr.write(`${isServiceRunning() ? `not ready at ${url}` : 'the service has exited'}: ${last}\n`)
  process.exitCode = 1
}
