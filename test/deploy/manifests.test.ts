import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type CommonConfig, LOOPBACK_HOST, readConfig } from '#shared/process/config.ts'
import { apiShape, readApiConfig } from '../../apps/api/config.ts'
import { describeAuthServer } from '../../apps/api/discovery/openapi/auth-server.ts'
import { authShape, readAuthConfig } from '../../apps/auth/config.ts'
import { OPERATOR_SHAPE } from '../../infra/admin/operator.ts'
import { listSettings } from '../../infra/admin/setting-reference.ts'
import { MIGRATE_SHAPE } from '../../infra/database/migrate-settings.ts'
import { COMPOSE, readInfra, type Yaml } from '../support/deployment.ts'
import { API_RESOURCE, ISSUER } from '../support/issuer.ts'
import {
  CONTAINERS,
  DEPLOYED,
  type DeployedProgram,
  IMAGE_ENV,
  MANIFESTS,
  type ProgramName,
  podOf,
} from './deployed-programs.ts'

const ROOT = join(import.meta.dirname, '../..')
const RUNBOOK = globSync('infra/runbook/*.md', { cwd: ROOT })
  .map((file) => readFileSync(join(ROOT, file), 'utf8'))
  .join('\n')
const SHAPES = { auth: authShape, api: apiShape, migrate: MIGRATE_SHAPE, admin: OPERATOR_SHAPE }
const SECRETS: Record<string, string> = {
  DATABASE_URL: 'postgres://someone@postgres/integration',
  REDIS_URL: 'redis://redis',
  SMTP_URL: 'smtps://someone:password@mail.example.com:465',
  KEY_ENCRYPTION_KEY: Buffer.alloc(32, 7).toString('base64'),
}
/** An operator gives it to the one command that needs it. */
const BY_HAND = 'admin KEY_ENCRYPTION_KEY'

/** The settings without which a program does not do what it is deployed for. */
const listNeeded = (program: ProgramName): string[] =>
  listSettings(SHAPES[program]).flatMap(({ name, fallback, secret }) => {
    const isNeeded = isService(program)
      ? fallback === 'required'
      : secret && ['none', 'the local stack'].includes(fallback)
    return isNeeded && BY_HAND !== `${program} ${name}` ? name : []
  })

const isService = (name: ProgramName): name is 'auth' | 'api' => name === 'auth' || name === 'api'

/** Reads the environment as the program does, with a secret in place of each file. */
function readAsProgram({ name, env }: DeployedProgram) {
  const own = Object.entries(env).map(([variable, value]) => {
    const setting = variable.replace(/_FILE$/, '')
    return setting === variable ? [variable, value] : [setting, SECRETS[setting] ?? 'a password']
  })
  const values = Object.fromEntries(own)
  if (name === 'auth') return readAuthConfig(values)
  return name === 'api' ? readApiConfig(values) : readConfig(values, SHAPES[name])
}

const portsOf = (name: 'auth' | 'api') => ({
  PORT: SHAPES[name].PORT.parse(undefined),
  METRICS_PORT: Number(DEPLOYED.find((each) => each.name === name)?.env.METRICS_PORT),
})
const PORTS = { auth: portsOf('auth'), api: portsOf('api') }

describe('the programs of each deployment', () => {
  it('starts both services everywhere, and the migration where containers run', () => {
    const started = new Set(DEPLOYED.map(({ deployment, name }) => `${deployment} ${name}`))
    const compose = ['auth', 'api', 'migrate', 'admin'].map((name) => `compose ${name}`)
    const kubernetes = ['auth', 'api', 'migrate'].map((name) => `kubernetes ${name}`)
    assert.deepEqual(started, new Set(['systemd auth', 'systemd api', ...kubernetes, ...compose]))
    const [base] = MANIFESTS.filter(({ kind }) => kind === 'Kustomization')
    const files = globSync('*.yaml', { cwd: join(ROOT, 'infra/deploy/kubernetes/base') })
    assert.deepEqual([...base.resources, 'ingress.yaml', 'kustomization.yaml'].sort(), files.sort())
  })

  for (const [index, program] of DEPLOYED.entries()) {
    const { deployment, name, env, secrets } = program
    const title = `${name} by ${deployment} (${index})`
    const shape: object = SHAPES[name]

    it(`sets only what the program reads: ${title}`, () => {
      for (const variable of Object.keys(env))
        if (!variable.startsWith('NODE_') && !(variable in IMAGE_ENV))
          assert.ok(variable.replace(/_FILE$/, '') in shape, variable)
    })

    it(`sets all that the program needs, in a form that it accepts: ${title}`, () => {
      readAsProgram(program)
      for (const setting of listNeeded(name))
        assert.ok(setting in env || `${setting}_FILE` in env, `${setting} is not set`)
    })

    it(`reads each secret from a file that it gets, and gets no other: ${title}`, () => {
      const isSecret = new Set(listSettings(SHAPES[name]).flatMap((each) => (each.secret ? each.name : [])))
      const files = Object.entries(env).filter(([variable]) => variable.endsWith('_FILE'))
      for (const variable of Object.keys(env))
        assert.ok(!isSecret.has(variable), `${variable} is in the open`)
      for (const [variable] of files) assert.ok(isSecret.has(variable.replace(/_FILE$/, '')), variable)
      assert.deepEqual(files.map(([, path]) => path).sort(), [...secrets.keys()].sort())
    })

    if (!isService(name)) continue
    it(`can be reached by its proxy and by Prometheus: ${title}`, () => {
      const { HOST, METRICS_HOST, PORT, METRICS_PORT } = readAsProgram(program) as CommonConfig
      for (const host of [HOST, METRICS_HOST]) assert.doesNotMatch(host, LOOPBACK_HOST)
      assert.deepEqual({ PORT, METRICS_PORT }, PORTS[name])
    })
  }

  it('has each secret file that the runbook lists for the units, and no other', () => {
    const [, listed = ''] = /credentials`, readable only by root: (.+?)\.$/m.exec(RUNBOOK) ?? []
    const units = DEPLOYED.filter(({ deployment }) => deployment === 'systemd')
    assert.deepEqual(
      [...listed.matchAll(/`([\w-]+)`/g)].map(([, file]) => file).sort(),
      units.flatMap(({ secrets }) => [...secrets.values()]).sort(),
    )
  })

  for (const name of ['auth', 'api'] as const)
    for (const deployment of ['systemd', 'kubernetes', 'compose'])
      it(`sets what has no default for ${name} by ${deployment}, or the runbook says what it is for`, () => {
        const program = DEPLOYED.find((each) => each.name === name && each.deployment === deployment)
        for (const { name: setting, fallback } of listSettings(SHAPES[name]))
          if (/^none\b/.test(fallback) && !(setting in (program ?? assert.fail()).env))
            assert.match(RUNBOOK, new RegExp(`\\b${setting}(?:_FILE)?\\b`))
      })

  it('gives the key encryption key to the authorization server alone', () => {
    for (const { name, env } of DEPLOYED)
      assert.equal('KEY_ENCRYPTION_KEY_FILE' in env, name === 'auth', name)
  })

  it('has the API fetch keys where the authorization server serves them, from every instance', () => {
    const { paths } = describeAuthServer({ issuer: ISSUER, resource: API_RESOURCE })
    const hosts = DEPLOYED.flatMap(({ deployment, name, env }) => {
      if (name !== 'api' || deployment === 'systemd') return []
      const { hostname, port, pathname } = new URL(env.JWKS_URL ?? assert.fail(deployment))
      assert.equal(Number(port), PORTS.auth.PORT)
      assert.ok('get' in (paths[pathname] ?? {}), env.JWKS_URL)
      return hostname
    })
    assert.deepEqual(new Set(hosts), new Set(['integration-auth', 'auth']))
    const instances = Object.entries<Yaml>(COMPOSE.services).filter(([service]) => /^auth-\d$/.test(service))
    assert.equal(instances.length, 2)
    for (const [, { networks }] of instances) assert.deepEqual(networks.inside.aliases, ['auth'])
  })
})

const pods = (app: string) => ({ podSelector: { matchLabels: { app } } })
const TO_AUTH = { to: [pods('integration-auth')], ports: [{ port: PORTS.auth.PORT }] }
const INSIDE = '10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.168.0.0/16'
const TO_RECEIVERS = {
  to: [{ ipBlock: { cidr: '0.0.0.0/0', except: INSIDE.split(' ') } }, { ipBlock: { cidr: '2000::/3' } }],
  ports: [{ port: 443 }],
}

describe('the ports and paths of each deployment', () => {
  const find = (kind: string, name: string) =>
    MANIFESTS.find((each) => each.kind === kind && each.metadata.name === name) ??
    assert.fail(`${kind} ${name}`)

  for (const [name, { PORT, METRICS_PORT }] of Object.entries(PORTS)) {
    const app = `integration-${name}`

    it(`serves ${name} in Kubernetes on its ports, to the proxy, Prometheus and the other service`, () => {
      const deployment = find('Deployment', app)
      assert.deepEqual(podOf(deployment).containers[0].ports, [
        { name: 'http', containerPort: PORT },
        { name: 'metrics', containerPort: METRICS_PORT },
      ])
      assert.equal(deployment.spec.template.metadata.annotations['prometheus.io/port'], `${METRICS_PORT}`)
      const { selector, ports } = find('Service', app).spec
      assert.deepEqual([selector, ports], [{ app }, [{ name: 'http', port: PORT, targetPort: 'http' }]])
      const { podSelector, policyTypes, ingress, egress } = find('NetworkPolicy', app).spec
      assert.deepEqual([podSelector, policyTypes], [{ matchLabels: { app } }, ['Ingress', 'Egress']])
      const others = name === 'auth' ? ['integration-web', 'integration-api'] : ['integration-web']
      assert.deepEqual(ingress, [
        { from: others.map(pods), ports: [{ port: PORT }] },
        {
          from: [{ namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'monitoring' } } }],
          ports: [{ port: METRICS_PORT }],
        },
      ])
      const dns = ['UDP', 'TCP'].map((protocol) => ({ port: 53, protocol }))
      const servers = { namespaceSelector: {}, podSelector: { matchLabels: { 'k8s-app': 'kube-dns' } } }
      assert.deepEqual(egress, [
        { to: [servers], ports: dns },
        { to: [pods('integration-postgres')], ports: [{ port: 5_432 }] },
        { to: [pods('integration-redis')], ports: [{ port: 6_379 }] },
        ...(name === 'auth' ? [] : [TO_AUTH, TO_RECEIVERS]),
      ])
      // While machines are drained, one pod stays.
      const budget = { minAvailable: 1, selector: { matchLabels: { app } } }
      assert.deepEqual(find('PodDisruptionBudget', app).spec, budget)
      assert.equal(find('HorizontalPodAutoscaler', app).spec.scaleTargetRef.name, app)
      const { resources, patches } = MANIFESTS.find(({ kind }) => kind === 'Component') ?? assert.fail()
      const patch = patches.find(({ target }: Yaml) => target.name === app).patch
      for (const value of [
        `{ app: ${app} }`,
        `{ name: metrics, port: ${METRICS_PORT}, targetPort: metrics }`,
      ])
        assert.ok(patch.includes(`value: ${value} }\n`), value)
      const { endpoints, selector: monitored } = find('ServiceMonitor', 'integration').spec
      assert.deepEqual([resources, endpoints], [['monitor.yaml'], [{ port: 'metrics' }]])
      assert.ok(monitored.matchExpressions[0].values.includes(app))
    })

    it(`probes ${name} at paths that it serves`, () => {
      const [container] = podOf(find('Deployment', app)).containers
      const { startupProbe, readinessProbe, livenessProbe } = container
      assert.deepEqual(
        [startupProbe, readinessProbe, livenessProbe].map(({ httpGet }) => httpGet),
        ['/healthz', '/readyz', '/healthz'].map((path) => ({ path, port: 'http' })),
      )
      const unit = readInfra(`deploy/systemd/${app}.service`)
      assert.match(unit, new RegExp(`^ExecStartPost=.* infra/deploy/wait-until-ready.ts ${PORT}$`, 'm'))
      for (const service of Object.values<Yaml>(COMPOSE.services)) {
        if (service.image !== app || service.healthcheck.disable) continue
        assert.ok(service.healthcheck.test[3].includes(`'http://127.0.0.1:${PORT}/readyz'`))
      }
      const stage = new RegExp(`^FROM base AS ${name}$[^]+?^EXPOSE ${PORT}$`, 'm')
      assert.match(readInfra('deploy/Containerfile'), stage)
      const target = `job_name: ${app}\n    static_configs:\n      - targets: [127.0.0.1:${METRICS_PORT}]`
      assert.ok(readInfra('monitoring/prometheus.yaml').includes(target))
    })
  }

  it('leads nginx to every instance of compose.yaml at its port, and to no other', () => {
    const upstreams = readInfra('deploy/nginx.conf').matchAll(/^upstream integration_(\w+) \{\n([^}]+)\}/gm)
    const servers = [...upstreams].flatMap(([upstream, name, block = '']) =>
      [
        ...(upstream.includes('\n  keepalive 32;\n') ? block : '').matchAll(
          /^ +server (\S+) max_fails=1 fail_timeout=3s;$/gm,
        ),
      ].map(([, at]) => [name, at]),
    )
    const instances = Object.entries<Yaml>(COMPOSE.services)
      .filter(([service]) => /-\d$/.test(service))
      .map(([service, { image }]) => {
        const name = image.replace('integration-', '') as 'auth' | 'api'
        return [name, `${service}:${PORTS[name].PORT}`]
      })
    assert.deepEqual(servers, instances)
  })

  it('gives nginx the certificate that the runbook puts beside compose.yaml', () => {
    const [{ source, target }] = COMPOSE.services.web.volumes
    for (const [field, file] of Object.entries({
      ssl_certificate: 'tls.crt',
      ssl_certificate_key: 'tls.key',
    })) {
      assert.ok(readInfra('deploy/nginx.conf').includes(`\n  ${field} ${target}/${file};\n`), file)
      assert.ok(CONTAINERS.includes(` ${source.replace('./', '')}/${file}\n`), file)
    }
  })

  it('names HSTS and the request id wherever nginx.conf adds a field, which ends what is inherited', () => {
    const blocks = readInfra('deploy/nginx.conf').split(/^(?= *(?:server|location\b.*) \{$)/m)
    const adding = blocks.filter((block) => /add_header/.test(block))
    assert.equal(adding.length, 5)
    for (const block of adding)
      for (const field of ['Strict-Transport-Security "max-age=31536000"', 'X-Request-Id $\\w*request_id'])
        assert.match(block, new RegExp(`add_header ${field.replace('$', '\\$')} always;`), block)
  })

  it('overwrites or removes each header that the services believe of a trusted proxy', () => {
    const reader = readFileSync(join(ROOT, 'shared/http/request-context.ts'), 'utf8')
    const read = [...reader.matchAll(/headers\.(\w+)|'(x-[a-z-]+)'/g)].map(
      ([, plain, quoted = '']) => plain ?? quoted,
    )
    assert.ok(new Set(read).size >= 5, String(read))
    const nginx = readInfra('deploy/nginx.conf').toLowerCase()
    for (const header of read) {
      const own = `\\$(?!http_${header.replaceAll('-', '_')};)\\w+`
      assert.match(nginx, new RegExp(`^  proxy_set_header ${header} (?:""|${own});$`, 'm'))
    }
  })
})

/** Lines of a unit: its sandbox, and how it runs. */
const UNIT = `DynamicUser=yes, NoNewPrivileges=yes, ProtectSystem=strict, ProtectHome=yes, PrivateTmp=yes,
  PrivateDevices=yes, ProtectProc=invisible, RestrictSUIDSGID=yes, SystemCallFilter=@system-service,
  SystemCallFilter=~@privileged @resources, CapabilityBoundingSet=, UMask=0077,
  Environment=NODE_ENV=production, Restart=on-failure, RestartPreventExitStatus=78, TimeoutStopSec=30,
  After=network-online.target, Wants=network-online.target`

/** Lines of nginx.conf that nothing else here can judge, and what it does without them. */
const NGINX: [line: string, without: string][] = [
  ['proxy_next_upstream error timeout;', 'fails with a host that is gone, or repeats a POST'],
  ['proxy_next_upstream_timeout 5s;', 'asks twice for an answer that takes half a minute'],
  ['proxy_next_upstream_tries 2;', 'tries every instance'],
  ['map $request_uri $integration_path {\n"~^(?<path>[^?]*)" $path;', 'judges the path after it was decoded'],
  ['map $integration_path $integration_ambiguous {\ndefault 0;', 'refuses nothing, or everything'],
  ['map $uri $integration_cache {', 'has every file asked for again'],
  [
    'map $upstream_http_x_request_id $integration_request_id {\ndefault $upstream_http_x_request_id;\n"" $request_id;',
    'answers with another request id than the log has',
  ],
  ['listen 443 ssl http2;', 'speaks HTTP/1.1 only'],
  ['proxy_set_header Host $host;', 'hides which name the caller asked for'],
  ['proxy_set_header Connection "";\nproxy_http_version 1.1;', 'connects anew for each request'],
  ['if ($integration_ambiguous) {\n    return 400;', 'passes on what a service reads as another path'],
  ['merge_slashes off;', 'chooses the service by another path than the one sent'],
  ['location = /metrics {\n    return 404;', 'answers with a page'],
  ['proxy_set_header X-Forwarded-For $remote_addr;', "believes the caller's own address"],
  ['proxy_set_header X-Request-Id $request_id;', "believes the caller's own request id"],
  ['proxy_set_header X-Caller-Request-Id $http_x_request_id;', "loses the caller's own request id"],
  ['proxy_set_header X-Forwarded-Proto "";', 'passes on what a caller says of itself'],
  ['proxy_set_header tracestate "";', "lets strangers join the operator's traces"],
  ['proxy_hide_header X-Request-Id;', 'answers with two request ids'],
  ['error_page 502 504 = @api_unanswered;', 'answers in HTML'],
  ['client_max_body_size 1m;', 'buffers bodies of any size'],
  ['client_header_timeout 10s;', 'waits long for a slow caller'],
  ['client_body_timeout 20s;', 'waits long for a slow caller'],
  ['proxy_connect_timeout 1s;', 'waits a minute for a machine that is gone'],
  ['proxy_read_timeout 30s;', 'gives up before the slowest answer, or long after'],
  ['server_tokens off;', 'tells its version'],
  ['root /srv/workspace;', 'finds no page of the workspace'],
  ['ssl_protocols TLSv1.2 TLSv1.3;', 'speaks TLS that is broken'],
]

describe('what a deployment allows its programs', () => {
  const services = Object.entries<Yaml>(COMPOSE.services)
  const hasLine = (text: string, line: string) => `\n${text}`.includes(`\n${line}\n`)

  for (const line of UNIT.split(/,\s+/))
    it(`has ${line} in the unit of auth`, () =>
      assert.ok(hasLine(readInfra('deploy/systemd/integration-auth.service'), line)))

  it('has the unit of auth check its settings in ExecStart alone, whose code 78 ends the restarts', () =>
    assert.doesNotMatch(readInfra('deploy/systemd/integration-auth.service'), /^ExecStartPre=/m))

  for (const file of ['systemd/integration-NAME.service', 'kubernetes/base/NAME.yaml'])
    it(`treats both services alike in ${file}, but for their names, ports and settings of their own`, () => {
      const OWN = /^Description=|KEY_ENCRYPTION_KEY|key-encryption-key|JWKS_URL|^ *#/
      const [auth, api] = ['auth', 'api'].map((name) =>
        readInfra(`deploy/${file.replace('NAME', name)}`)
          .replaceAll(/\b(?:auth|api)\b/g, 'NAME')
          .replaceAll(/\b([89]08)[12]\b/g, '$1N')
          .split('\n')
          .filter((line) => !OWN.test(line)),
      )
      assert.deepEqual(auth, api)
    })

  for (const [line, without] of NGINX)
    it(`has "${line.replace(/\n\s+/, ' ')}" in nginx.conf, or it ${without}`, () => {
      const trim = (text: string) => text.replaceAll(/^ +/gm, '')
      assert.ok(hasLine(trim(readInfra('deploy/nginx.conf')), trim(line)))
    })

  for (const { kind, metadata, spec } of MANIFESTS.filter(({ kind }) => /^(?:Deployment|Job)$/.test(kind)))
    it(`gives the pods of the ${kind} ${metadata.name} its name, an image, and no right that they do not need`, () => {
      assert.deepEqual(spec.template.metadata.labels, { app: metadata.name })
      const { securityContext, containers, volumes, ...pod } = spec.template.spec
      assert.deepEqual([pod.automountServiceAccountToken, pod.enableServiceLinks], [false, false])
      const target = containers[0].image.replace('integration-', 'FROM base AS ')
      assert.ok(hasLine(readInfra('deploy/Containerfile'), target), target)
      assert.ok(containers[0].resources.limits.memory)
      assert.deepEqual(securityContext, {
        runAsNonRoot: true,
        runAsUser: 10_001,
        runAsGroup: 10_001,
        fsGroup: 10_001,
        seccompProfile: { type: 'RuntimeDefault' },
      })
      assert.deepEqual(containers[0].securityContext, {
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      })
      assert.equal(volumes[0].secret.defaultMode, 0o440)
    })

  for (const { metadata, spec } of MANIFESTS.filter(({ kind }) => kind === 'Deployment'))
    it(`replaces no pod of ${metadata.name} before another is ready, or while it only takes long`, () => {
      assert.deepEqual(spec.strategy.rollingUpdate, { maxUnavailable: 0, maxSurge: 1 })
      assert.equal(spec.template.metadata.annotations['prometheus.io/scrape'], 'true')
      assert.equal(podOf({ spec }).terminationGracePeriodSeconds, 30)
      const [{ labelSelector }] = podOf({ spec }).topologySpreadConstraints
      assert.deepEqual([labelSelector, spec.selector], Array(2).fill({ matchLabels: { app: metadata.name } }))
      const { startupProbe, readinessProbe, livenessProbe } = podOf({ spec }).containers[0]
      assert.deepEqual(
        [startupProbe, readinessProbe, livenessProbe].map(({ httpGet, ...times }) => times),
        [
          { periodSeconds: 1, failureThreshold: 30 },
          { periodSeconds: 1, timeoutSeconds: 3, failureThreshold: 1 },
          { periodSeconds: 10, timeoutSeconds: 5, failureThreshold: 6 },
        ],
      )
    })

  it('gives a migration longer than the ten minutes that it waits for a lock', () => {
    const job = MANIFESTS.find(({ kind }) => kind === 'Job')
    const times = { activeDeadlineSeconds: 1_800, ttlSecondsAfterFinished: 600, backoffLimit: 5 }
    assert.partialDeepStrictEqual(job?.spec, { ...times, template: { spec: { restartPolicy: 'Never' } } })
  })

  it('begins to serve by compose.yaml once every instance is ready, at addresses that stay free', () => {
    const { web, ...others } = COMPOSE.services
    const instances = Object.keys(others).filter((name) => /-\d$/.test(name))
    const ready = instances.map((name) => [name, { condition: 'service_healthy' }])
    assert.deepEqual(web.depends_on, Object.fromEntries(ready))
    for (const name of instances)
      assert.partialDeepStrictEqual(others[name], {
        healthcheck: { interval: '5s', retries: 60 },
        depends_on: { migrate: { condition: 'service_completed_successfully' }, redis: {} },
      })
    const { config } = COMPOSE.networks.inside.ipam
    assert.deepEqual(config, [{ subnet: '172.30.0.0/24', ip_range: '172.30.0.128/25' }])
  })

  it('builds each image from nothing, for a user that is not root', () => {
    const file = readInfra('deploy/Containerfile')
    for (const line of ['FROM scratch AS base', 'USER 10001:10001']) assert.ok(hasLine(file, line), line)
  })

  for (const [name, service] of services)
    it(`hardens the container ${name} of compose.yaml, and gives it the secrets that it names`, () => {
      assert.deepEqual([service.cap_drop, service.security_opt], [['ALL'], ['no-new-privileges:true']])
      const ours = { read_only: true, pull_policy: 'never', stop_grace_period: '30s' }
      // As root, the images of the stores would need capabilities to become another user.
      assert.partialDeepStrictEqual(service, service.image.startsWith('integration-') ? ours : { user: name })
      if (service.restart === 'unless-stopped') assert.ok(service.logging.options['max-size'])
      const secrets = JSON.stringify(service).match(/(?<=\/run\/secrets\/)\w+/g) ?? []
      assert.deepEqual(secrets.sort(), service.secrets?.toSorted() ?? [])
    })

  it('migrates only with right settings, once Postgres is up', () => {
    const right = { condition: 'service_completed_successfully' }
    const expected = { 'check-auth': right, 'check-api': right, postgres: { condition: 'service_healthy' } }
    assert.deepEqual(COMPOSE.services.migrate.depends_on, expected)
    // By TCP: while the image creates the database, a server answers on the socket alone.
    const { environment, healthcheck } = COMPOSE.services.postgres
    const isReady = `CMD pg_isready -h 127.0.0.1 -U postgres -d ${environment.POSTGRES_DB}`
    assert.equal(healthcheck.test.join(' '), isReady)
  })

  it('has the services of compose.yaml trust nginx alone about who calls, and nobody reach the stores', () => {
    const { web } = COMPOSE.services
    for (const { deployment, name, env } of DEPLOYED)
      if (deployment === 'compose' && isService(name))
        assert.equal(env.TRUSTED_PROXIES, web.networks.inside.ipv4_address)
    const published = services.flatMap(([name, { ports }]) => (ports ? [name, ...ports] : []))
    assert.deepEqual(published, ['web', '443:443'])
    assert.equal(COMPOSE.networks.inside.internal, true)
    assert.equal(services.filter(([, { image }]) => image.startsWith('integration-')).length, 9)
  })

  it('lets Redis forget nothing to make room', () => {
    assert.match(COMPOSE.services.redis.command.join(' '), / --maxmemory-policy noeviction /)
  })
})
