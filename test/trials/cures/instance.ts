import { eventually } from '../../support/eventually.ts'
import { freePort } from '../../support/ports.ts'
import { type ServiceChild, startServiceChild } from '../../support/process.ts'

const READY_DEADLINE_MS = 120_000
const MINUTE_MS = 60_000

export type Instance = Awaited<ReturnType<typeof createInstance>>

/** What differs for a single start: settings (undefined: unset), and the file that runs. */
export type Change = { env?: Record<string, string | undefined>; main?: string }

/** One instance of a service, not started yet, on ports of its own. */
export async function createInstance(service: 'auth' | 'api', settings: Record<string, string>) {
  const [port, metricsPort] = [await freePort(), await freePort()]
  const url = `http://127.0.0.1:${port}`
  const children: ServiceChild[] = []
  const fixed = { HOST: '127.0.0.1', PORT: String(port), METRICS_PORT: String(metricsPort) }

  function spawn({ env = {}, main = `apps/${service}/main.ts` }: Change = {}): ServiceChild {
    const entries = Object.entries({ ...settings, ...fixed, ...env })
    const defined = entries.filter((entry): entry is [string, string] => entry[1] !== undefined)
    const child = startServiceChild(main, Object.fromEntries(defined))
    children.push(child)
    return child
  }
  const readiness = async () => {
    const response = await fetch(`${url}/readyz`).catch(() => undefined)
    return response && { status: response.status, text: await response.text() }
  }
  async function start(change?: Change): Promise<void> {
    const child = spawn(change)
    let answer: Awaited<ReturnType<typeof readiness>>
    const otherwise = () => `${service} is not ready: ${JSON.stringify(answer)} ${child.stderr()}`
    await eventually(
      async () => {
        answer = await readiness()
        return answer?.status === 200 || child.process.exitCode !== null
      },
      { limit_ms: READY_DEADLINE_MS, otherwise },
    )
    if (answer?.status !== 200) throw new Error(otherwise())
  }
  const stop = async () => children.at(-1)?.kill()
  const log = () => children.flatMap(({ lines }) => lines)

  return {
    url,
    /** Where Prometheus scrapes it. */
    target: `127.0.0.1:${metricsPort}`,
    /** Starts it, and does not wait. */
    spawn,
    /** Resolves when it is ready. */
    start,
    stop,
    async restart(change?: Change): Promise<void> {
      await stop()
      await start(change)
    },
    /** Waits until /readyz answers so. */
    untilReady: (status: number, text: string) =>
      eventually(
        async () => {
          const answer = await readiness()
          return answer?.status === status && answer.text.includes(text)
        },
        { limit_ms: MINUTE_MS, otherwise: () => `/readyz never answers ${status} with ${text}` },
      ),
    signal: (name: NodeJS.Signals) => children.at(-1)?.process.kill(name),
    /** Every line that it has logged. */
    log,
    /** Waits until it has logged an event, with this text in its line. */
    untilLogged: (event: string, text = '') =>
      eventually(() => log().some((line) => line.event === event && JSON.stringify(line).includes(text)), {
        limit_ms: MINUTE_MS,
        otherwise: () => `the log has no ${event} with "${text}"`,
      }),
    [Symbol.asyncDispose]: stop,
  }
}
