import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { eventually } from '../../support/eventually.ts'
import { freePort } from '../../support/ports.ts'
import { startProgram } from '../program.ts'

const MONITORING = join(import.meta.dirname, '../../../infra/monitoring')
/** More than a second: a scrape ends with its interval, and a service waits two for Postgres. */
const EVERY = '3s'

/** What is scraped, by the name of its job. */
export type Targets = Record<'integration-auth' | 'integration-api', string[]>

/** A Prometheus with the shipped jobs and rules, which scrapes these targets. */
export async function startPrometheus(folder: string, targets: Targets) {
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const file = join(folder, 'prometheus.yaml')

  async function configure(scraped: Targets): Promise<void> {
    const shipped = await readFile(join(MONITORING, 'prometheus.yaml'), 'utf8')
    const text = Object.entries(scraped).reduce(
      (yaml, [job, list]) =>
        yaml.replace(new RegExp(`(job_name: ${job}\\n[^[]*targets: ).*`), `$1${JSON.stringify(list)}`),
      shipped.replace('alerts.yaml', join(MONITORING, 'alerts.yaml')),
    )
    const global = `global: { scrape_interval: ${EVERY}, scrape_timeout: ${EVERY}, evaluation_interval: ${EVERY} }\n`
    await writeFile(file, global + text)
  }

  await configure(targets)
  const flags = [`--config.file=${file}`, `--storage.tsdb.path=${join(folder, 'tsdb')}`]
  const web = [`--web.listen-address=127.0.0.1:${port}`, '--web.enable-lifecycle']
  await using starting = new AsyncDisposableStack()
  starting.use(await startProgram('prometheus', [...flags, ...web], port))
  await eventually(async () => (await fetch(`${url}/-/ready`)).ok)
  const parts = starting.move()
  return {
    /** Returns whether an expression gives anything: now, or so much later by the samples that there are. */
    async isTrue(expression: string, later_s = 0): Promise<boolean> {
      const query = new URLSearchParams({ query: expression, time: String(Date.now() / 1_000 + later_s) })
      const response = await fetch(`${url}/api/v1/query?${query}`)
      const text = await response.text()
      if (!response.ok) throw new Error(`Prometheus: ${text}`)
      return JSON.parse(text).data.result.length > 0
    },
    /** Scrapes these from now on. */
    async scrape(scraped: Targets): Promise<void> {
      await configure(scraped)
      const { ok } = await fetch(`${url}/-/reload`, { method: 'POST' })
      if (!ok) throw new Error('Prometheus does not reload its configuration')
    },
    [Symbol.asyncDispose]: () => parts.disposeAsync(),
  }
}
