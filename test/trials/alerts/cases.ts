import { readFileSync } from 'node:fs'
import { load } from 'js-yaml'

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

export const ALERT_CASES = load(
  readFileSync(new URL('cases.yaml', import.meta.url), 'utf8'),
) as readonly AlertCase[]
