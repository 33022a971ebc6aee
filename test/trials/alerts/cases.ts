import { parseYaml } from '../../support/deployment.ts'
import { read } from '../../support/project.ts'

/** The samples of series, a minute apart. */
export type Scraped = Record<string, string>

interface AlertCase {
  alert: string
  fires: Scraped
  /** The labels of the alert, besides its severity, as Prometheus writes them. */
  labels?: string
  /** The closest case that must not fire the alert. */
  quiet: Scraped
}

export const ALERT_CASES: readonly AlertCase[] = parseYaml(read('test/trials/alerts/cases.yaml'))
