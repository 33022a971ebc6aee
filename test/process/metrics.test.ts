import assert from 'node:assert/strict'
import { channel } from 'node:diagnostics_channel'
import { once } from 'node:events'
import type { Server } from 'node:http'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'
import { drain } from '#shared/process/http-server.ts'
import { createMetrics, serveMetrics } from '#shared/process/metrics.ts'
import { VERSION } from '#shared/process/version.ts'
import { measurePools, measureRedis } from '#shared/stores/store-metrics.ts'
import { createHealthRoutes } from '../../apps/api/health.ts'
import { createMailSender } from '../../apps/api/mail/send.ts'
import { type MailSettings, mailSettings, mailShape } from '../../apps/api/mail/settings.ts'
import { measureIssuers, measurePage, measurePurges } from '../../apps/api/metrics.ts'
import { REVOKED_TOKEN_PURGE } from '../../apps/api/revocation/start-reconciling.ts'
import { measureClock } from '../../apps/auth/metrics.ts'
import { sharedApi } from '../support/api.ts'
import { sharedAuth, tokenFields } from '../support/auth.ts'
import { afterwards } from '../support/block.ts'
import { passing } from '../support/clock.ts'
import { readInfra, type Yaml } from '../support/deployment.ts'
import { eventually } from '../support/eventually.ts'
import { silentLog } from '../support/log.ts'
import { freePort } from '../support/ports.ts'
import { type ServiceChild, startServiceChild } from '../support/process.ts'
import { find, read } from '../support/project.ts'
import { recordedTexts } from '../support/recorded.ts'
import { connectedDatabase, SILENT_DATABASE } from '../support/stores.ts'
import { ALERT_CASES } from '../trials/alerts/cases.ts'

const ALERTS = readInfra('monitoring/alerts.yaml')
type RuleField = 'name' | 'expr' | 'after' | 'severity' | 'summary'
const RULE =
  /- alert: (?<name>.+)\n +expr: '(?<expr>.+)'\n +for: (?<after>.+)\n +labels:\n +severity: (?<severity>.+)\n +annotations:\n +summary: '(?<summary>.+)'$/gm
const RULES = [...ALERTS.matchAll(RULE)].map(({ groups }) => groups as Record<RuleField, string>)
const EXPRESSIONS = new Map(RULES.map(({ name, expr }) => [name, expr]))
const ALERT_NAMES = [...EXPRESSIONS.keys()]
/** The worst, or the best, of all instances against a number. */
const COMPARISON =
  /^(min|max)(?: by \(([^)]+)\) )?\(((?:integration|nodejs)_\w+(?:\{[^}]+\})?)\) (==|>|<) ([\d.]+)(?: \* (\d+))?( or absent\(\3\))?$/
/** The unit in which Grafana shows an expression of the dashboard, by what it is about. */
const UNITS: [expr: RegExp, unit: string][] = [
  [/^histogram_quantile|^[^[]+_seconds\)$/, 's'],
  [/_seconds_(?:sum|total)\[/, 'percentunit'],
  [/_duration_seconds_count\[/, 'reqps'],
  [/_total\[/, 'ops'],
  [/_bytes\)$/, 'bytes'],
  [/_(?:usable|trusted)\)$/, 'bool'],
  [/^/, 'short'],
]
/** How the values of several processes become one, by the name of the gauge. */
const GAUGES = new Map(
  find('{apps/{api,auth},shared}/**/*.ts').flatMap((file) =>
    [...read(file).matchAll(/gauge\('(\w+)',.+?over: '(\w+)'/g)].map(
      ([, name = '', over = '']) => [name, over] as const,
    ),
  ),
)

/** The value of a series, whose labels are in the order of the output. */
function seriesValue(text: string, series: string): number | undefined {
  const line = text.split('\n').find((each) => each.startsWith(`${series} `))
  return line === undefined ? undefined : Number(line.slice(series.length + 1))
}

type Series = { name: string; labels: Record<string, string> }

const LABEL = /(\w+)(=~|=)"([^"]*)"/g

/** Every series that was scraped, with the name that Prometheus gives its service. */
function parseSeries(text: string, job: string): Series[] {
  return [...text.matchAll(/^(\w+)(?:\{(.*)\})? \S+$/gm)].map(([, name = '', labels = '']) => ({
    name,
    labels: {
      ...Object.fromEntries([...labels.matchAll(LABEL)].map(([, label, , value]) => [label, value])),
      job,
    },
  }))
}

/** Every "name" or "name{label=…}" of the expressions, one for each alternative of each label. */
function selectorsIn(text: string): Series[] {
  const expressions = [...text.matchAll(/^ +expr: '(.*)'$|"expr": "(.*)",?$/gm)].map(
    ([, yaml, json]) => yaml ?? JSON.parse(`"${json}"`),
  )
  return expressions.flatMap((expression: string) =>
    [...expression.matchAll(/\b((?:integration|nodejs|process)_\w+)(?:\{([^}]*)\})?/g)].flatMap(
      ([, name = '', matchers = '']) =>
        [...matchers.matchAll(LABEL)].reduce(
          (found, [, label = '', operator, value = '']) =>
            (operator === '=~' ? value.split('|') : [value]).flatMap((one) =>
              found.map((each) => ({ name, labels: { ...each.labels, [label]: one } })),
            ),
          [{ name, labels: {} }] as Series[],
        ),
    ),
  )
}

const selects = (wanted: Series, { name, labels }: Series): boolean =>
  name === wanted.name &&
  Object.entries(wanted.labels).every(([label, value]) =>
    // No 5xx is answered here: that there is a status is enough.
    value === '5..' ? /^\d{3}$/.test(labels[label] ?? '') : labels[label] === value,
  )

/** Values, the routes that were asked so far, and the metrics of Node.js. */
const OTHER =
  /^(?:\w+_bucket|integration_http|# TYPE|(?:# HELP )?(?:nodejs|process)_).*\n?|^\n|(?<!^#.*) \S+$/gm
const REQUESTS = 'integration_http_request_duration_seconds_count'

describe('metrics', () => {
  const children: ServiceChild[] = []
  after(() => Promise.all(children.map((child) => child.kill())))
  const auth = sharedAuth()
  const api = sharedApi()
  const metricsPorts: number[] = []
  const scraped = { auth: '', api: '' }
  let scrape: Record<'auth' | 'api', () => Promise<string>>

  async function start(name: 'auth' | 'api', env: Record<string, string>) {
    const [port, metricsPort] = [await freePort(), await freePort()]
    const ports = { PORT: String(port), METRICS_PORT: String(metricsPort), METRICS_HOST: '127.0.0.2' }
    const child = startServiceChild(`apps/${name}/main.ts`, { ...env, ...ports })
    children.push(child)
    metricsPorts.push(metricsPort)
    await child.logged('listening')
    await child.logged('ready')
    const read = async () => (await fetch(`http://127.0.0.2:${metricsPort}/metrics`)).text()
    return { url: `http://127.0.0.1:${port}`, read }
  }

  before(async () => {
    const tokens = await start('auth', { ...auth.env, PROCESSES: '2', RATE_TOKEN_PER_CLIENT: '11/60' })
    const client = await auth.createClient()
    const ask = (fields: object) =>
      fetch(`${tokens.url}/v1/oauth/token`, {
        method: 'POST',
        body: new URLSearchParams({ ...tokenFields(client), ...fields }),
        headers: { connection: 'close' },
      })
    for (let i = 0; i < 11; i += 1) assert.equal((await ask({})).status, 200)
    assert.equal((await ask({})).status, 429)
    assert.equal((await ask({ client_secret: 'wrong' })).status, 401)
    assert.equal((await ask({ client_id: `cli_${'0'.repeat(22)}` })).status, 401)
    await fetch(`${tokens.url}/no/such/path?client_secret=hunter2`)

    // Nothing listens there: mail is measured once it is set up, whether or not it works.
    const mail = { SMTP_URL: `smtp://127.0.0.1:${await freePort()}`, MAIL_FROM: 'mail@example.com' }
    const data = await start('api', { ...api.env, ...mail })
    api.clock.set(Date.now())
    const { vendorId } = await api.createCompany()
    const { clientId, secret } = await api.createClient({
      vendorId,
      scopes: ['analytics:read', 'analytics:write'],
    })
    const token = await api.issuer.token({ clientId, vendorId, scope: 'analytics:read analytics:write' })
    const send = async (method: string, path: string, body: object | null = null) => {
      const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' }
      const content = body && JSON.stringify(body)
      const response = await fetch(data.url + path, { method, headers, body: content })
      // On a busy machine the first request of a process may be answered with 503.
      return response.status !== 503 && response.status
    }
    const event = { eventId: 'e1', type: 'click', occurredAt: new Date().toISOString() }
    const events = { events: [event, event] }
    const analytics = `/v1/analytics/${vendorId}`
    assert.equal(await eventually(() => send('GET', `${analytics}/daily`)), 200)
    assert.equal(await eventually(() => send('POST', `${analytics}/events`, events)), 200)
    const found = { secrets: [secret, secret] }
    assert.equal(await eventually(() => send('POST', '/v1/found-secrets', found)), 202)
    await sleep(1_000)
    scrape = { auth: tokens.read, api: data.read }
    scraped.auth = await tokens.read()
    scraped.api = await data.read()
  })

  const { eventuallyRecorded } = recordedTexts(new URL('metrics.txt', import.meta.url), [
    [OTHER, ''],
    [/(?<=version=")[^"]+/g, 'VERSION'],
  ])
  // A rate does not see a first value: what an alert counts is there before it happens.
  for (const service of ['auth', 'api'] as const)
    it(`are named as written: ${service}`, () =>
      eventuallyRecorded(service, async () =>
        scrape[service]().then((text) => text.split('\n').sort().join('\n')),
      ))

  for (const [series, expected] of [
    ['integration_tokens_issued_total', 11],
    ['integration_oauth_refusals_total{reason="wrong_secret"}', 1],
    ['integration_rate_limit_hits_total{limit="token-client"}', 1],
    [`${REQUESTS}{route="/v1/oauth/token",method="POST",status="200"}`, 11],
    [`${REQUESTS}{route="/v1/oauth/token",method="POST",status="429"}`, 1],
    [`${REQUESTS}{route="unmatched",method="GET",status="404"}`, 1],
    ['integration_postgres_connections_max{pool="main"}', 20],
    ['integration_redis_usable{redis="redis"}', 1],
    ['integration_signing_keys{state="active"}', 1],
    ['integration_ready', 1],
    ['integration_degraded{without="redis"}', 0],
    [`integration_build_info{service="auth",version="${VERSION}"}`, 1],
  ] as const)
    it(`sums over two processes of the authorization server: ${series}`, () => {
      assert.equal(seriesValue(scraped.auth, series), expected, scraped.auth)
    })

  for (const [series, expected] of [
    ['integration_events_total{result="accepted"}', 1],
    ['integration_events_total{result="duplicate"}', 1],
    [`${REQUESTS}{route="/v1/analytics/:vendorId/events",method="POST",status="200"}`, 1],
    ['integration_redis_trusted', 1],
    ['integration_ready', 1],
    ['integration_fenced', 0],
    ['integration_degraded{without="clocks"}', 0],
    ['integration_degraded{without="read-only"}', 0],
    ['integration_found_secrets_total', 1],
    ['integration_revocations_page_bytes{list="clients"}', 3],
  ] as const)
    it(`reports of the resource API: ${series}`, async () => {
      const isThere = () => seriesValue(scraped.api, series) === expected
      const readAgain = async () => {
        if (!isThere()) scraped.api = await scrape.api()
        return isThere()
      }
      await eventually(readAgain, { every_ms: 200, otherwise: () => scraped.api })
    })

  it('reports how old the last round is, and who decided', async () => {
    const age_s = async () => seriesValue(await scrape.api(), 'integration_revocation_round_age_seconds')
    await eventually(async () => ((await age_s()) ?? 99) < 30, { every_ms: 200 })
    assert.match(scraped.auth, /^integration_revocation_decisions_total\{by="(?:redis|postgres)"\} [1-9]/m)
  })

  for (const [what, bytes, status] of [
    ['metrics', 'GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n', 200],
    ['another path', 'GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n', 404],
    ['what is no request', 'hello\r\n\r\n', 400],
    ['a head that never ends', 'GET /metrics HTTP/1.1\r\n', 408],
  ] as const)
    it(`answers ${what} on the port for metrics with ${status} and a request id`, async () => {
      for (const port of metricsPorts) {
        const socket = connect(port, '127.0.0.2', () => socket.write(bytes))
        const answer = await text(socket)
        assert.match(answer, new RegExp(`^HTTP/1\\.1 ${status} `))
        assert.match(answer, /\r\nX-Request-Id: [0-9a-f-]{36}\r\n/i)
      }
    })

  it('measures requests and clocks in seconds', async () => {
    const metrics = createMetrics({ service: 'auth' })
    metrics.observe({ route: '/', method: 'GET', status: 200, duration_ms: 1_500 })
    measureClock(metrics, { offsets: () => ({ postgres_ms: -90_000 }) } as never)
    const text = await metrics.registry.metrics()
    assert.match(text, /_request_duration_seconds_sum\{.+\} 1\.5$/m)
    for (const [, sum_s] of scraped.api.matchAll(/_request_duration_seconds_sum\{.+\} (.+)$/gm))
      assert.ok(Number(sum_s) > 0 && Number(sum_s) < 60, sum_s)
    assert.match(text, /_bucket\{le="1",.+\} 0\n.+_bucket\{le="2.5",.+\} 1$/m)
    assert.match(text, /_clock_offset_seconds\{.*"postgres".*\} -90$/m)
  })

  it('counts a decision once, however often metrics are read', async () => {
    const metrics = createMetrics({ service: 'api' })
    const counts = () => ({ redis: 5, postgres: 2, neither: 1 })
    measureRedis(metrics, [], { counts, isTrusted: () => false })
    await metrics.registry.metrics()
    const text = await metrics.registry.metrics()
    const decided = ['redis', 'postgres', 'neither'].map((by) =>
      seriesValue(text, `integration_revocation_decisions_total{by="${by}"}`),
    )
    assert.deepEqual(decided, [5, 2, 1])
  })

  it('reports whether each Redis is usable, and whether one vouches for revocations', async () => {
    const metrics = createMetrics({ service: 'api' })
    const watch = (name: string, trouble?: string) => ({ name, trouble: () => trouble, report() {} })
    let trusted = false
    measureRedis(metrics, [watch('redis'), watch('revocation', 'NOPERM')], {
      counts: () => ({}),
      isTrusted: () => trusted,
    })
    const series = ['usable{redis="redis"}', 'usable{redis="revocation"}', 'trusted']
    const values = async () => {
      const text = await metrics.registry.metrics()
      return series.map((each) => seriesValue(text, `integration_redis_${each}`))
    }
    assert.deepEqual(await values(), [1, 0, 0])
    trusted = true
    assert.deepEqual(await values(), [1, 0, 1])
  })

  it('distinguishes connections in use, free and waited for', async () => {
    const metrics = createMetrics({ service: 'api' })
    await using db = connectedDatabase(api.database.apiUrl)
    measurePools(metrics, { some: db })
    const states = async () => {
      const text = await metrics.registry.metrics()
      return ['used', 'free', 'waiting'].map((state) =>
        seriesValue(text, `integration_postgres_connections{pool="some",state="${state}"}`),
      )
    }
    const connection = await db.client.acquireConnection()
    const other = db.raw('select 1').then(String)
    await new Promise(setImmediate)
    assert.deepEqual(await states(), [1, 0, 1])
    db.client.releaseConnection(connection)
    await other
    assert.deepEqual(await states(), [0, 1, 0])
  })

  it('exposes nothing that a caller sent', () => {
    assert.doesNotMatch(scraped.auth + scraped.api, /hunter2|no\/such|\bcli_|\bven_/)
  })

  it('has every metric, label and value that the alerts and the dashboard look for', () => {
    const series = [
      ...parseSeries(scraped.auth, 'integration-auth'),
      ...parseSeries(scraped.api, 'integration-api'),
    ]
    const selectors = selectorsIn(ALERTS + readInfra('monitoring/dashboard.json'))
    assert.ok(selectors.length > 10, String(selectors.length))
    for (const { name, labels } of selectors) {
      const isThere = series.some((each) => selects({ name, labels }, each))
      assert.ok(isThere, `${name} ${JSON.stringify(labels)}`)
    }
  })

  it('judges an alert that compares a gauge as its cases do, over processes as over machines', async () => {
    const compared: string[] = []
    const ofNode = await createMetrics({ service: '', measureProcess: true }).registry.getMetricsAsJSON()
    for (const { alert, fires, labels = '', quiet } of ALERT_CASES) {
      const [, over, by = '', selector = '', operator, bound, times = '1', orAbsent] =
        COMPARISON.exec(EXPRESSIONS.get(alert) ?? '') ?? []
      if (over !== 'min' && over !== 'max') continue
      const [wanted] = selectorsIn(`  expr: '${selector}'`)
      const isMet = (scraped: Record<string, string>) => {
        const values = Object.entries(scraped).flatMap(([series, samples]) =>
          parseSeries(`${series} 0`, '').some((one) => wanted && selects(wanted, one))
            ? Number.parseFloat(samples.split(' ').at(-1) ?? '')
            : [],
        )
        const difference = Math[over](...values) - Number(bound) * Number(times)
        if (values.length === 0) return orAbsent !== undefined
        return operator === '==' ? difference === 0 : operator === '>' ? difference > 0 : difference < 0
      }
      assert.deepEqual([isMet(fires), isMet(quiet)], [true, false], alert)
      const names = [...labels.matchAll(LABEL)].map(([, name]) => name).join(', ')
      if (!orAbsent) assert.equal(by, names, alert)
      const { name = '' } = wanted ?? {}
      // Those who wait in any process count together.
      const own = name === 'integration_postgres_connections' ? 'sum' : over
      assert.equal(GAUGES.get(name) ?? ofNode.find((one) => one.name === name)?.aggregator, own, name)
      compared.push(alert)
    }
    assert.equal(new Set(compared).size, 12)
  })

  it('shows each expression of the dashboard in its unit, with a legend and an aggregate that fit', () => {
    const { panels, templating } = JSON.parse(readInfra('monitoring/dashboard.json'))
    const places = panels.map(({ gridPos: { x, y, h, w } }: Yaml) => [x % 8, y % 8, h, w, x + 3 * y].join())
    for (const [index, place] of places.entries()) assert.match(place, /^0,0,8,8,/, panels[index].title)
    assert.equal(new Set(places).size, panels.length)
    for (const { title, datasource } of panels)
      assert.equal(datasource.uid, `\${${templating.list[0].name}}`, title)
    const [, compared = ''] = /Compare (.+?) on the dashboard\./.exec(readInfra('runbook/failures.md')) ?? []
    const titles = panels.map(({ title }: Yaml) => title.toLowerCase()).join()
    for (const what of compared.split(/, | and /))
      assert.ok(what && titles.includes(what.toLowerCase()), what)
    const targets = panels.flatMap(({ title, targets, fieldConfig }: Yaml) =>
      targets.map((one: Yaml) => ({ ...one, title, unit: fieldConfig.defaults.unit })),
    )
    for (const { title, unit, expr, legendFormat } of targets) {
      assert.equal(unit, UNITS.find(([pattern]) => pattern.test(expr))?.[1], title)
      const [, by = 'le'] = / by \(([^)]+)\)/.exec(expr) ?? []
      const shown = [...legendFormat.matchAll(/\{\{(\w+)\}\}/g)].map(([, label]) => label)
      assert.equal(shown.join(', '), by.replace(/^le(?:, )?/, ''), title)
      const drawn = legendFormat.replaceAll(/\{\{.+?\}\}/g, '').replace('most', 'max')
      const about = { API: 'integration-api', Token: '/v1/oauth/token' }[title.split(' ')[0] as string] ?? ''
      for (const word of [about, ...(drawn.match(/[a-z]{3,}/g) ?? [])]) assert.ok(expr.includes(word), title)
      const [, quantile] = /^histogram_quantile\(([\d.]+)/.exec(expr) ?? []
      if (quantile) assert.ok(`${title} ${legendFormat}`.includes(`p${Number(quantile) * 100}`), title)
      const [, over, name = ''] = /^(\w+)(?: by \(.+\))? ?\((\w+)\)$/.exec(expr) ?? []
      assert.equal(GAUGES.get(name) ?? over, over, title)
    }
  })

  it('names in the summary of an alert only labels that it keeps', () => {
    for (const { name, summary } of RULES) {
      const { labels = '' } = ALERT_CASES.find(({ alert }) => alert === name) ?? {}
      const kept = [...labels.matchAll(LABEL)].map(([, label]) => `{{ $labels.${label} }}`)
      for (const [used] of summary.matchAll(/\{\{.*?\}\}/g))
        assert.ok(kept.includes(used), `${name}: ${used}`)
    }
  })

  it('says in the summary of an alert the bound of its expression', () => {
    const UNITS_OF: Record<string, number> = { '%': 0.01, ms: 0.001, days: 86_400, a: 1, one: 1, five: 5 }
    const said = RULES.flatMap(({ name, expr, summary }) => {
      const [, count = '', unit = ''] =
        /ore than (\S+) (%|ms|s|second|days|requests?)(?: |\.)/.exec(summary) ?? []
      if (!count) return []
      const [, bound, times = '1'] = / > ([\d.]+)(?: \* (\d+))?/.exec(expr) ?? []
      const meant = (UNITS_OF[count] ?? Number(count)) * (UNITS_OF[unit] ?? 1)
      assert.equal(meant, Number(bound) * Number(times), name)
      return name
    })
    assert.equal(said.length, 8)
  })

  it('gives each alert a case that fires it, in `npm run test:alerts`', () => {
    assert.deepEqual([...new Set(ALERT_CASES.map(({ alert }) => alert))], ALERT_NAMES)
  })

  it('gives each alert its severity, delay, meaning and cure in the runbook', () => {
    const runbook = readInfra('runbook/failures.md')
    assert.equal(RULES.length, ALERTS.match(/- alert:/g)?.length)
    for (const { name, severity, after } of RULES) {
      const row = `^\\| \`${name}\` \\| ${severity}, ${after} \\| .{20,} \\| .{20,} \\|$`
      assert.match(runbook, new RegExp(row, 'm'))
    }
  })
})

describe('metrics of a database that does not answer', () => {
  it('are given up after two seconds, as is /readyz, and say nothing', async () => {
    const metrics = createMetrics({ service: 'api' })
    const db = SILENT_DATABASE
    measureIssuers(metrics, db, Date)
    measurePage(metrics, db, Date)
    measurePurges(metrics, { db, clock: Date, purges: [REVOKED_TOKEN_PURGE] })
    const yes = () => true
    const healthy = { keysUsable: yes, isClockRight: yes, draining: () => false, degraded: () => [] }
    createHealthRoutes({ db, metrics, ...healthy })
    const values = z.object(mailShape).parse({ SMTP_URL: 'smtp://127.0.0.1:1', MAIL_FROM: 'a@b.example' })
    const mail = { settings: mailSettings(values) as MailSettings, baseUrl: '', findAddressees: {} }
    createMailSender({ db, metrics, log: silentLog(), ...mail })
    const scraped = await passing(2_000, () => metrics.registry.metrics())
    assert.equal(seriesValue(scraped, 'integration_ready'), 0)
    const gauges = new Set(scraped.match(/^integration_\w+(?<!_total)(?=[ {])/gm))
    const known = ['integration_build_info', 'integration_ready', 'integration_degraded']
    assert.deepEqual(gauges, new Set(known))
  })
})

describe('the port for metrics', () => {
  it('keeps no process alive, nor does a connection to it', async () => {
    const sockets = () =>
      process
        .getActiveResourcesInfo()
        .filter((name) => /^TCP/.test(name))
        .sort()
    const before = sockets()
    const port = await freePort()
    await serveMetrics(createMetrics({ service: 'api' }), { host: '127.0.0.1', port, processes: 1 })
    const client = connect(port, '127.0.0.1').unref()
    await using _ = afterwards(() => client.destroy())
    client.write('GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n')
    await once(client, 'data')
    assert.deepEqual(sockets(), before)
  })

  it('gives a sender 5 s for the head and 10 s for the request', async () => {
    const port = await freePort()
    await serveMetrics(createMetrics({ service: 'api' }), { host: '127.0.0.1', port, processes: 1 })
    const started = channel('http.server.request.start')
    const served = new Promise<Server>((resolve) =>
      started.subscribe(function found(message) {
        started.unsubscribe(found)
        resolve((message as { server: Server }).server)
      }),
    )
    await fetch(`http://127.0.0.1:${port}/metrics`)
    const server = await served
    await drain(server, 0)
    assert.deepEqual([server.headersTimeout, server.requestTimeout], [5_000, 10_000])
  })
})
