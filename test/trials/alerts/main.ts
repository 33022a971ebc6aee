import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { mkdtempDisposable } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { firstExecutable } from '../../../infra/local/child.ts'
import { Failure } from '../../../infra/local/failure.ts'
import { ALERT_CASES } from './cases.ts'

/*
 * promtool reads the alert rules and Prometheus' configuration, and evaluates each rule on series that must make it fire
 * and on series that must not. It has to be installed (apt-get install prometheus).
 */
const MONITORING = join(import.meta.dirname, '../../../infra/monitoring')
const RULES = join(MONITORING, 'alerts.yaml')

const promtool = await firstExecutable(['/usr/bin', '/usr/local/bin'], ['promtool'])
if (!promtool) throw new Failure('promtool is not installed: apt-get install prometheus')

const rules = readFileSync(RULES, 'utf8')

/** The alert of a rule, with its own severity and summary. */
function expected(alert: string, labels: Record<string, string>) {
  const [, rule = ''] = new RegExp(`- alert: ${alert}\\n(.+?)(?=\\n +- |\\n *#|$)`, 's').exec(rules) ?? []
  const severity = /severity: (\w+)/.exec(rule)?.[1] ?? ''
  const summary = (/summary: '(.+)'/.exec(rule)?.[1] ?? '').replaceAll(
    /\{\{ \$labels\.(\w+) \}\}/g,
    (_, label: string) => labels[label] ?? '',
  )
  return { exp_labels: { severity, ...labels }, exp_annotations: { summary } }
}

const tests = ALERT_CASES.flatMap(({ alert, fires, labels = {}, quiet }) => {
  const testOf = (scraped: Record<string, string>, exp_alerts: object[]) => ({
    interval: '1m',
    input_series: Object.entries(scraped).map(([series, values]) => ({ series, values })),
    alert_rule_test: [{ eval_time: '150m', alertname: alert, exp_alerts }],
  })
  return [testOf(fires, [expected(alert, labels)]), testOf(quiet, [])]
})
await using folder = await mkdtempDisposable(join(tmpdir(), 'integration-access-alerts-'))
// JSON is YAML.
const file = join(folder.path, 'tests.yaml')
writeFileSync(file, JSON.stringify({ rule_files: [RULES], evaluation_interval: '1m', tests }))
for (const args of [
  ['check', 'config', join(MONITORING, 'prometheus.yaml')],
  ['test', 'rules', file],
]) {
  const { status } = spawnSync(promtool, args, { stdio: 'inherit' })
  if (status !== 0) process.exitCode = 1
}
process.stdout.write(`${ALERT_CASES.length} cases, each once firing and once quiet\n`)
