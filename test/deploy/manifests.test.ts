import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { basename } from 'node:path'
import { type CommonConfig, LOOPBACK_HOST, readConfig } from '#shared/process/config.ts'
import { apiShape, readApiConfig } from '../../apps/api/config.ts'
import { describeAuthServer } from '../../apps/api/discovery/openapi/auth-server.ts'
import { mailShape } from '../../apps/api/mail/settings.ts'
import { authShape, readAuthConfig } from '../../apps/auth/config.ts'
import { OPERATOR_SHAPE } from '../../infra/admin/operator.ts'
import { listSettings } from '../../infra/admin/setting-reference.ts'
import { MIGRATE_SHAPE } from '../../infra/database/migrate-settings.ts'
import { COMPOSE, parseYaml, readInfra, type Yaml } from '../support/deployment.ts'
import { API_RESOURCE, ISSUER } from '../support/issuer.ts'
import { find, read } from '../support/project.ts'
import {
  CONTAINERS,
  DEPLOYED,
  type DeployedProgram,
  IMAGE_ENV,
  MANIFESTS,
  type ProgramName,
  podOf,
} from './deployed-programs.ts'

const RUNBOOK = find('infra/runbook/*.md')
  .map((file) => read(file))
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
    for (const { apiVersion, kind } of MANIFESTS)
      assert.match(apiVersion, /^kustomize\.config\.k8s\.io\/|^(?:[a-z0-9.]+\/)?v\d$/, kind)
    const [base] = MANIFESTS.filter(({ kind }) => kind === 'Kustomization')
    const files = find('infra/deploy/kubernetes/base/*.yaml').map((file) => basename(file))
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
      const { HOST, METRICS_HOST, PORT, METRICS_PORT, LOG_LEVEL } = readAsProgram(program) as CommonConfig
      // Without its lines, no log proves after a restore what was revoked.
      assert.equal(LOG_LEVEL, SHAPES[name].LOG_LEVEL.parse(undefined))
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
      const { resources, patches } = MANIFESTS.find(({ kind }) => kind === 'Component') ?? assert.fail()
      const { target, patch } = patches.find(({ target }: Yaml) => target.name === app)
      const metrics = { name: 'metrics', port: METRICS_PORT, targetPort: 'metrics' }
      assert.deepEqual(
        [target.kind, ...parseYaml(patch)],
        [
          'Service',
          { op: 'add', path: '/metadata/labels', value: { app } },
          { op: 'add', path: '/spec/ports/-', value: metrics },
        ],
      )
      const { endpoints, selector: monitored } = find('ServiceMonitor', 'integration').spec
      assert.deepEqual([resources, endpoints], [['monitor.yaml'], [{ port: 'metrics' }]])
      const values = ['integration-auth', 'integration-api']
      assert.deepEqual(monitored.matchExpressions, [{ key: 'app', operator: 'In', values }])
    })

    it(`asks ${name} at its ports whether it is ready`, () => {
      const unit = readInfra(`deploy/systemd/${app}.service`)
      assert.match(unit, new RegExp(`^ExecStartPost=.* infra/deploy/wait-until-ready.ts ${PORT}$`, 'm'))
      const { [`${name}-1`]: first, [`${name}-2`]: second } = COMPOSE.services
      const [how, , , program] = first.healthcheck.test
      const ready = `({ ok: url === 'http://127.0.0.1:${PORT}/readyz' })`
      const codes = [ready, '({ ok: false })', 'Promise.reject()'].map((answer) => {
        const args = ['-e', `fetch = async (url) => ${answer}; ${program}`]
        return spawnSync(process.execPath, args).status
      })
      assert.deepEqual([how, codes, second.healthcheck], ['CMD', [0, 1, 1], first.healthcheck])
      const stage = new RegExp(`^FROM base AS ${name}$[^]+?^EXPOSE ${PORT}$`, 'm')
      assert.match(readInfra('deploy/Containerfile'), stage)
      const target = `job_name: ${app}\n    static_configs:\n      - targets: [127.0.0.1:${METRICS_PORT}]`
      assert.ok(readInfra('monitoring/prometheus.yaml').includes(target))
    })
  }

  it('leads nginx to every instance of compose.yaml at its port, and to no other', () => {
    const instances = Object.entries<Yaml>(COMPOSE.services).filter(([service]) => /-\d$/.test(service))
    for (const [name, { PORT }] of Object.entries(PORTS)) {
      const servers = instances.flatMap(([service, { image }]) =>
        image === `integration-${name}` ? `  server ${service}:${PORT} max_fails=1 fail_timeout=3s;\n` : [],
      )
      const upstream = `upstream integration_${name} {\n${servers.join('')}  keepalive 32;\n}\n`
      assert.ok(readInfra('deploy/nginx.conf').includes(upstream), upstream)
    }
  })

  it('gives nginx the certificate that the runbook puts beside compose.yaml', () => {
    const [{ source, target, read_only: isReadOnly }] = COMPOSE.services.web.volumes
    assert.equal(isReadOnly, true)
    // Where this image writes, beside a root that nothing may write to.
    assert.deepEqual(COMPOSE.services.web.tmpfs, ['/tmp'])
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
    const reader = read('shared/http/request-context.ts')
    const believed = [...reader.matchAll(/headers\.(\w+)|'(x-[a-z-]+)'/g)].map(
      ([, plain, quoted = '']) => plain ?? quoted,
    )
    assert.ok(new Set(believed).size >= 5, String(believed))
    const nginx = readInfra('deploy/nginx.conf').toLowerCase()
    for (const header of believed) {
      const own = `\\$(?!http_${header.replaceAll('-', '_')};)\\w+`
      assert.match(nginx, new RegExp(`^  proxy_set_header ${header} (?:""|${own});$`, 'm'))
    }
  })
})

/** Lines of a unit: its sandbox, and how it runs. */
const UNIT = `DynamicUser=yes, NoNewPrivileges=yes, ProtectSystem=strict, ProtectHome=yes, PrivateTmp=yes,
  PrivateDevices=yes, ProtectProc=invisible, RestrictSUIDSGID=yes, SystemCallFilter=@system-service,
  SystemCallFilter=~@privileged @resources, CapabilityBoundingSet=, UMask=0077, KillMode=mixed,
  Environment=NODE_ENV=production, Restart=on-failure, RestartPreventExitStatus=78, TimeoutStopSec=30,
  After=network-online.target, Wants=network-online.target, WantedBy=multi-user.target,
  LogRateLimitIntervalSec=0, CacheDirectory=integration-auth,
  Environment=NODE_COMPILE_CACHE=%C/integration-auth`

/** Lines of nginx.conf that nothing else here can judge, after what it does without them. */
const NGINX = read('test/deploy/nginx.txt')
  .split(/^# /m)
  .slice(1)
  .map((text) => text.trim().split(/\n(.*)/s))

describe('what a deployment allows its programs', () => {
  const RIGHT = { condition: 'service_completed_successfully' }
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
          .replaceAll(new RegExp(`\\b${name}\\b`, 'g'), 'NAME')
          .replaceAll(name === 'auth' ? /\b([89]08)1\b/g : /\b([89]08)2\b/g, '$1N')
          .split('\n')
          .filter((line) => !OWN.test(line)),
      )
      assert.deepEqual(auth, api)
    })

  for (const [without, line = ''] of NGINX)
    it(`has "${line.replace(/\n\s+/, ' ')}" in nginx.conf, or it ${without}`, () => {
      const trim = (text: string) => text.replaceAll(/^ +/gm, '')
      assert.ok(hasLine(trim(readInfra('deploy/nginx.conf')), trim(line)))
    })

  for (const { of, otherwise, fields } of parseYaml(read('test/deploy/fields.yaml')))
    for (const manifest of MANIFESTS.filter(({ kind }) => of.split(' ').includes(kind)))
      it(`sets the fields of the ${manifest.kind} ${manifest.metadata.name}, or ${otherwise}`, () => {
        const expected = JSON.parse(JSON.stringify(fields).replaceAll('NAME', manifest.metadata.name))
        for (const [path, value] of Object.entries(expected)) {
          const keys = path.split(/(?<!\\)\./).map((key) => key.replaceAll('\\', ''))
          assert.deepEqual(
            keys.reduce((part, key) => part[key], manifest),
            value,
            path,
          )
        }
      })

  for (const { kind, metadata, spec } of MANIFESTS.filter(({ kind }) => /^(?:Deployment|Job)$/.test(kind)))
    it(`gives the ${kind} ${metadata.name} an image that there is, and memory enough`, () => {
      const { image, resources } = podOf({ spec }).containers[0]
      const target = image.replace('integration-', 'FROM base AS ')
      assert.ok(hasLine(readInfra('deploy/Containerfile'), target), target)
      const [least = 0, most = 0] = [resources.requests, resources.limits].map(({ memory }) =>
        Number(/^(\d+)Mi$/.exec(memory)?.[1]),
      )
      // An idle process takes 110 MiB.
      assert.ok(least >= 110 && least < most, `${least} ${most}`)
    })

  it('begins to serve by compose.yaml once every instance is ready, at addresses that stay free', () => {
    const { web, ...others } = COMPOSE.services
    const instances = Object.keys(others).filter((name) => /-\d$/.test(name))
    const ready = instances.map((name) => [name, { condition: 'service_healthy' }])
    assert.deepEqual(web.depends_on, Object.fromEntries(ready))
    for (const name of instances)
      assert.partialDeepStrictEqual(others[name], {
        healthcheck: { interval: '5s', retries: 60 },
        depends_on: { migrate: RIGHT, redis: { condition: 'service_started' } },
      })
    const addresses = services.flatMap(([, { networks }]) => networks?.inside?.ipv4_address ?? [])
    assert.deepEqual(
      addresses.map((address: string) => address.replace(/^172\.30\.0\./, '')),
      ['11', '12', '21', '22', '10'],
    )
    const { config } = COMPOSE.networks.inside.ipam
    assert.deepEqual(config, [{ subnet: '172.30.0.0/24', ip_range: '172.30.0.128/25' }])
  })

  it('builds each image from nothing, for a user that is not root', () => {
    const file = readInfra('deploy/Containerfile')
    for (const line of ['COPY --from=node /node /', 'WORKDIR /app', 'USER 10001:10001'])
      assert.match(file, new RegExp(`^FROM scratch AS base\n(?:.+\n)*${line}\n`, 'm'))
    assert.match(file, /^ENV PATH=\/usr\/local\/bin NODE_ENV=production /m)
  })

  for (const [name, service] of services)
    it(`hardens the container ${name} of compose.yaml, and gives it the secrets that it names`, () => {
      assert.deepEqual([service.cap_drop, service.security_opt], [['ALL'], ['no-new-privileges:true']])
      const ours = { read_only: true, pull_policy: 'never', stop_grace_period: '30s' }
      // As root, the images of the stores would need capabilities to become another user.
      assert.partialDeepStrictEqual(service, service.image.startsWith('integration-') ? ours : { user: name })
      const { 'max-size': size, 'max-file': count } = service.logging?.options ?? {}
      const kept = ` keeps ${Number.parseInt(size, 10) * count} MB of each container's log`
      assert.ok(service.restart !== 'unless-stopped' || CONTAINERS.includes(kept), kept)
      const secrets = JSON.stringify(service).match(/(?<=\/run\/secrets\/)\w+/g) ?? []
      assert.deepEqual(secrets.sort(), service.secrets?.toSorted() ?? [])
    })

  it('mails from each container that sends or checks mail, which gets the secret and has a way out', () => {
    const { services: mailing, secrets: files } = parseYaml(readInfra('deploy/compose.mail.yaml'))
    assert.deepEqual(files, { smtp_url: { file: './secrets/smtp_url' } })
    const senders = services.filter(([name, { image }]) => image === 'integration-api' || name === 'admin')
    assert.deepEqual(Object.keys(mailing).sort(), senders.map(([name]) => name).sort())
    for (const [name, own] of senders) {
      const { environment, secrets, networks = [] } = mailing[name]
      const names = Object.keys(environment).map((variable) => variable.replace(/_FILE$/, ''))
      assert.deepEqual(names, Object.keys(mailShape))
      assert.deepEqual(secrets, [environment.SMTP_URL_FILE.replace('/run/secrets/', '')])
      const ways = [own.networks ?? [], networks].flatMap((one) =>
        Array.isArray(one) ? one : Object.keys(one),
      )
      assert.ok(own.network_mode === 'none' || ways.includes('outside'), name)
    }
  })

  it('sets for Node in images and units what the runbook says', () => {
    const files = ['deploy/Containerfile', 'deploy/systemd/integration-auth.service', 'runbook/install.md']
    const said = files.map((file) => /NODE_OPTIONS="?(--max-semi[^"\n]+)/.exec(readInfra(file))?.[1])
    assert.equal(new Set(said).size, 1, String(said))
  })

  it('wants as many connections to Postgres as the runbook says', () => {
    const pools =
      SHAPES.auth.DATABASE_POOL_SIZE.parse(undefined) + SHAPES.api.DATABASE_POOL_SIZE.parse(undefined)
    const most = MANIFESTS.find(({ kind }) => kind === 'HorizontalPodAutoscaler')?.spec.maxReplicas
    const inPods = `${most} pods of each service, as in the base, want ${most * pools} connections, and 12 want ${12 * pools}`
    for (const text of [inPods, `need ${4 * pools} + 8`]) assert.ok(RUNBOOK.includes(text), text)
  })

  it('waits for each layer no longer than the one around it does', () => {
    const secondsOf = (name: string, file = 'infra/deploy/nginx.conf') =>
      Number(new RegExp(`\\b${name}[ =]+(\\d+)(?:s;|_000$)`, 'm').exec(read(file))?.[1])
    const drains_s = DEPLOYED.map(({ env }) => SHAPES.api.DRAIN_DELAY_S.parse(env.DRAIN_DELAY_S))
    const finished_s =
      Math.max(...drains_s) + secondsOf('DRAIN_DEADLINE_MS', 'shared/process/service-process.ts')
    const [connect_s, both_s, read_s] = ['connect', 'next_upstream', 'read'].map((what) =>
      secondsOf(`proxy_${what}_timeout`),
    )
    // An instance is used again before the other goes, which finishes what it has before it is killed.
    assert.ok(secondsOf('fail_timeout') < Math.min(...drains_s) && finished_s < 30, `${finished_s}`)
    assert.ok(connect_s && both_s && read_s && 2 * connect_s < both_s && both_s < read_s)
  })

  it('migrates only with right settings, once Postgres is up', () => {
    const expected = { 'check-auth': RIGHT, 'check-api': RIGHT, postgres: { condition: 'service_healthy' } }
    assert.deepEqual(COMPOSE.services.migrate.depends_on, expected)
    for (const name of ['auth', 'api']) {
      const { image, command, depends_on: before } = COMPOSE.services[`check-${name}`]
      const check = ['node', `apps/${name}/main.ts`, '--check']
      // What a service waits for waits for this.
      assert.deepEqual([image, command, before], [`integration-${name}`, check, {}])
    }
    // By TCP: while the image creates the database, a server answers on the socket alone.
    const { environment, healthcheck } = COMPOSE.services.postgres
    const isReady = `CMD pg_isready -h 127.0.0.1 -U postgres -d ${environment.POSTGRES_DB}`
    assert.deepEqual(healthcheck, { test: isReady.split(' '), interval: '2s', retries: 30 })
  })

  it('has the services of compose.yaml trust nginx alone about who calls, and nobody reach the stores', () => {
    const { web } = COMPOSE.services
    for (const { deployment, name, env } of DEPLOYED)
      if (deployment === 'compose' && isService(name))
        assert.equal(env.TRUSTED_PROXIES, web.networks.inside.ipv4_address)
    const published = services.flatMap(([name, { ports }]) => (ports ? [name, ...ports] : []))
    assert.deepEqual(published, ['web', '443:443'])
    assert.equal(COMPOSE.networks.inside.internal, true)
    const { networks, volumes } = COMPOSE
    assert.deepEqual([Object.keys(networks), volumes], [['inside', 'outside', 'front'], { postgres: {} }])
    assert.equal(services.filter(([, { image }]) => image.startsWith('integration-')).length, 9)
  })

  it('puts into each container what its image looks for, where it looks', () => {
    const file = readInfra('deploy/Containerfile')
    const [, major] = /^ARG NODE=.*node:(\d+)-/m.exec(file) ?? []
    assert.equal(major, read('.node-version').split('.')[0])
    const [, root] = /^COPY apps\/workspace\/dist (\S+)$/m.exec(file) ?? []
    for (const name of ['nginx', 'workspace'])
      assert.ok(readInfra(`deploy/${name}.conf`).includes(`root ${root};`))
    assert.ok(hasLine(file, 'COPY infra/deploy/nginx.conf /etc/nginx/conf.d/default.conf'))
    const { postgres, redis, web, admin, 'api-1': api } = COMPOSE.services
    // From 18 on, the image of Postgres has a folder for each version in its volume.
    assert.deepEqual(
      [postgres.image.split(':')[1], postgres.volumes],
      ['18', ['postgres:/var/lib/postgresql']],
    )
    // Its user is not root.
    assert.ok(
      Number(web.sysctls['net.ipv4.ip_unprivileged_port_start']) <= Number(web.ports[0].split(':')[1]),
    )
    assert.match(
      `${redis.image} ${redis.command.join(' ')}`,
      /:7 .* --maxmemory-policy noeviction --aclfile /,
    )
    // The rules of its user in Redis let it revoke.
    assert.equal(admin.environment.REDIS_URL_FILE, api.environment.REDIS_URL_FILE)
    const [, port] = /^ {2}listen (\d+);$/m.exec(readInfra('deploy/workspace.conf')) ?? []
    assert.ok(RUNBOOK.includes(`behind it does, on port ${port}.`))
    const { tls, rules } = MANIFESTS.find(({ kind }) => kind === 'Ingress')?.spec ?? assert.fail()
    assert.deepEqual(
      tls[0].hosts,
      rules.map(({ host }: Yaml) => host),
    )
  })
})
