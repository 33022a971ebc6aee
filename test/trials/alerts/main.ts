import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { mkdtempDisposable } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onPath } from '../../../infra/local/child.ts'
import { StartError } from '../../../infra/local/start-error.ts'
import { parseYaml, readInfra, type Yaml } from '../../support/deployment.ts'
import { ALERT_CASES, type Scraped } from './cases.ts'

/*
 * promtool reads the alert rules and Prometheus' configuration, and evaluates each rule on series
 * that must make it fire and on series that must not. It has to be installed (apt-get install prometheus).
 */
const CONFIGURATION = join(import.meta.dirname, '../../../infra/monitoring/prometheus.yaml')
const RULES: Yaml[] = parseYaml(readInfra('monitoring/alerts.yaml')).groups[0].rules

const promtool = await onPath('promtool')
if (!promtool) throw new StartError('promtool is not installed: apt-get install prometheus')

const buildTest = (alert: string, scraped: Scraped, exp_samples: object[]) => {
  const firing = `ALERTS{alertname="${alert}",alertstate="firing"}`
  return {
    interval: '1m',
    input_series: Object.entries(scraped).map(([series, values]) => ({ series, values })),
    promql_expr_test: [
      { expr: `sum without (alertname, alertstate, severity) (${firing})`, eval_time: '150m', exp_samples },
    ],
  }
}
await using folder = await mkdtempDisposable(join(tmpdir(), 'integration-access-alerts-'))
// JSON is YAML. Each case has a file with its rule alone: promtool would evaluate all of them for each.
const files = ALERT_CASES.map(({ alert, fires, labels = '', quiet }, index) => {
  const [file, rules] = [join(folder.path, `tests-${index}.yaml`), join(folder.path, `rules-${index}.yaml`)]
  const rule = RULES.filter((each) => each.alert === alert)
  writeFileSync(rules, JSON.stringify({ groups: [{ name: alert, rules: rule }] }))
  const tests = [buildTest(alert, fires, [{ labels: `{${labels}}`, value: 1 }]), buildTest(alert, quiet, [])]
  writeFileSync(file, JSON.stringify({ rule_files: [rules], evaluation_interval: '1m', tests }))
  return file
})
for (const args of [
  ['check', 'config', CONFIGURATION],
  ['test', 'rules', ...files],
]) {
  const { status } = spawnSync(promtool, args, { stdio: 'inherit' })
  if (status !== 0) process.exitCode = 1
}
process.stdout.write(`${ALERT_CASES.length} cases, each once firing and once quiet\n`)
