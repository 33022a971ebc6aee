import { eventually } from '../../support/eventually.ts'
import { freePort } from '../../support/ports.ts'
import { type ServiceChild, startServiceChild } from '../../support/process.ts'

const READY_DEADLINE_MS = 180_000

/** One process of our services, or of a foreign service that verifies our tokens. */
export type Site = Awaited<ReturnType<typeof createSite>>

interface SiteOptions {
  /** `auth 1` */
  name: string
  service: 'auth' | 'api' | 'outside'
  /** The file that it runs. */
  main: string
  env: Record<string, string>
}

/** A process that does not run yet, on a port of its own. */
export async function createSite({ name, service, main, env }: SiteOptions) {
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  let child: ServiceChild | undefined
  let upSince_ms = Number.POSITIVE_INFINITY
  let crash: string | undefined

  async function end(): Promise<void> {
    upSince_ms = Number.POSITIVE_INFINITY
    const killed = child
    child = undefined
    killed?.process.kill('SIGKILL')
    await killed?.exit
  }

  /** Resolves when it is ready. */
  async function start(): Promise<void> {
    const started = startServiceChild(main, { ...env, HOST: '127.0.0.1', PORT: String(port) })
    child = started
    void started.exit.then(({ code, signal }) => {
      if (child === started) crash = `${name} ended with ${code ?? signal}: ${started.stderr().slice(-500)}`
    })
    let output = 'nothing'
    await eventually(
      async () => {
        if (crash) throw new Error(crash)
        const response = await fetch(`${url}/readyz`).catch(() => undefined)
        output = (await response?.text()) ?? output
        return response?.ok
      },
      { limit_ms: READY_DEADLINE_MS, otherwise: () => `${name} is not ready and says ${output}` },
    )
    upSince_ms = performance.now()
  }

  return {
    name,
    service,
    url,
    start,
    /** Whether the process was stopped or gone at any moment since then (of performance.now()). */
    wasDownSince: (from_ms: number) => upSince_ms >= from_ms,
    /** How it ended without being killed, or undefined while all is well. */
    crash: () => crash,
    /** Kills the process. Resolves with a function that starts it again on its port. */
    async kill() {
      await end()
      return start
    },
    /** Pauses the process. Returns a function that resumes it. */
    freeze() {
      upSince_ms = Number.POSITIVE_INFINITY
      child?.process.kill('SIGSTOP')
      return () => {
        child?.process.kill('SIGCONT')
        upSince_ms = performance.now()
      }
    },
    [Symbol.asyncDispose]: end,
  }
}
