import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

const DEPLOY = join(import.meta.dirname, '../../infra/deploy')
const read = (file: string): string => readFileSync(join(DEPLOY, file), 'utf8')

const SANDBOX = [
  'DynamicUser=yes',
  'NoNewPrivileges=yes',
  'ProtectSystem=strict',
  'ProtectHome=yes',
  'PrivateTmp=yes',
  'PrivateDevices=yes',
  'ProtectProc=invisible',
  'RestrictSUIDSGID=yes',
  'SystemCallFilter=@system-service',
  'SystemCallFilter=~@privileged @resources',
  'CapabilityBoundingSet=',
  'UMask=0077',
]
const UNIT: [line: string, without: string][] = [
  ...SANDBOX.map((line): [string, string] => [line, 'may do more on its machine than it needs']),
  ['Environment=NODE_ENV=production', 'may accept settings of a demo'],
  ['RestartPreventExitStatus=78', 'starts again and again with a wrong setting'],
  ['Restart=on-failure', 'stays down after a crash'],
  ['TimeoutStopSec=30', 'is killed before it has drained'],
]
const POD: [line: string, without: string][] = [
  ['runAsNonRoot: true', 'may run as root'],
  ['seccompProfile: { type: RuntimeDefault }', 'may make any system call'],
  ['automountServiceAccountToken: false', 'has credentials of the cluster'],
  ['allowPrivilegeEscalation: false', 'may gain rights'],
  ['readOnlyRootFilesystem: true', 'may change its own code'],
  ['capabilities: { drop: [ALL] }', 'has capabilities of root'],
  ['defaultMode: 0440', 'has secrets that all users can read'],
]
const SERVED: [line: string, without: string][] = [
  ...POD,
  ['readinessProbe:\n            httpGet: { path: /readyz, port: http }', 'gets requests before it is ready'],
  [
    'livenessProbe:\n            httpGet: { path: /healthz, port: http }',
    'is restarted when a store is gone',
  ],
  ['minAvailable: 1', 'may go away as a whole while machines are drained'],
]

/** The lines that keep each file's program safe, or up, and what it does without them. */
const REQUIRED: Record<string, [line: string, without: string][]> = {
  'systemd/integration-auth.service': UNIT,
  'systemd/integration-api.service': UNIT,
  'kubernetes/base/auth.yaml': SERVED,
  'kubernetes/base/api.yaml': SERVED,
  'kubernetes/base/migrate.yaml': POD,
  'kubernetes/base/network.yaml': [
    [
      'except: [10.0.0.0/8, 100.64.0.0/10, 127.0.0.0/8, 169.254.0.0/16, 172.16.0.0/12, 192.168.0.0/16]',
      'lets test events reach the cluster',
    ],
  ],
  Containerfile: [
    ['FROM scratch AS base', 'holds a shell, npm and apt'],
    ['FROM base AS auth', 'holds a shell, npm and apt'],
    ['FROM base AS api', 'holds a shell, npm and apt'],
    ['FROM base AS operator', 'holds a shell, npm and apt'],
    ['USER 10001:10001', 'runs as root'],
  ],
  'compose.yaml': [
    ['pull_policy: never', "runs another's image of that name"],
    ['read_only: true', 'lets a container change its own code'],
    ['cap_drop: [ALL]', 'leaves capabilities of root'],
    ["security_opt: ['no-new-privileges:true']", 'lets a container gain rights'],
    [
      '<<: [*running, *unprivileged]\n    image: docker.io/library/postgres:18',
      'leaves Postgres capabilities',
    ],
    ['<<: [*running, *unprivileged]\n    image: docker.io/library/redis:7', 'leaves Redis capabilities'],
    ['user: postgres', 'starts as root without the capabilities to become another user'],
    ['user: redis', 'starts as root without the capabilities to become another user'],
    ['stop_grace_period: 30s', 'kills a service before it has drained'],
    ['internal: true', 'opens the stores to other networks'],
    ['restart: unless-stopped', 'stays down after a reboot'],
    ["logging: { options: { max-size: 50m, max-file: '5' } }", 'fills the disk with its log'],
    [
      'test: [CMD, pg_isready, -h, 127.0.0.1, -U, postgres, -d, integration]',
      'migrates before Postgres is up',
    ],
    ['check-auth: { condition: service_completed_successfully }', 'migrates with a wrong setting'],
    ['check-api: { condition: service_completed_successfully }', 'migrates with a wrong setting'],
    ["ports: ['443:443']", 'is reached by nobody'],
  ],
  'nginx.conf': [
    ['proxy_next_upstream error timeout;', 'fails with a host that is gone, or repeats a POST'],
    ['proxy_next_upstream_timeout 5s;', 'asks twice for an answer that takes half a minute'],
    ['proxy_next_upstream_tries 2;', 'tries every instance'],
    ['"~^(?<path>[^?]*)" $path;', 'judges the path after it was decoded'],
    ['"~*(?://|/[.]{1,2}(?:/|$)|%(?:2e|2f|5c|00))" 1;', 'passes on what a service reads as another path'],
    ['if ($integration_ambiguous) {\n    return 400;', 'passes it on all the same'],
    ['merge_slashes off;', 'chooses the service by another path than the one sent'],
    ['location = /healthz {\n    return 404;', 'answers for one instance'],
    ['location = /readyz {\n    return 404;', 'answers for one instance'],
    ['location = /metrics {\n    return 404;', 'answers with a page'],
    ['proxy_set_header X-Forwarded-For $remote_addr;', "believes the caller's own address"],
    ['proxy_set_header X-Request-Id $request_id;', "believes the caller's own request id"],
    ['proxy_set_header X-Forwarded-Proto "";', 'passes on what a caller says of itself'],
    ['proxy_set_header Forwarded "";', 'passes on what a caller says of itself'],
    ['proxy_set_header traceparent "";', "lets strangers join the operator's traces"],
    ['proxy_set_header tracestate "";', "lets strangers join the operator's traces"],
    ['add_header Strict-Transport-Security "max-age=31536000" always;', 'lets browsers come back by http'],
    ['add_header X-Request-Id $integration_request_id always;', 'refuses without a request id'],
    ['proxy_hide_header X-Request-Id;', 'answers with two request ids'],
    ['error_page 502 504 = @auth_unanswered;', 'answers OAuth clients in HTML'],
    ['error_page 502 504 = @api_unanswered;', 'answers in HTML'],
    ...['auth-1:8081', 'auth-2:8081', 'api-1:8082', 'api-2:8082'].map((instance): [string, string] => [
      `server ${instance} max_fails=1 fail_timeout=3s;`,
      'waits for an instance that is gone with every other request, or leaves it out for long',
    ]),
    ['client_max_body_size 1m;', 'buffers bodies of any size'],
    ['client_header_timeout 10s;', 'waits long for a slow caller'],
    ['client_body_timeout 20s;', 'waits long for a slow caller'],
    ['proxy_connect_timeout 1s;', 'waits a minute for a machine that is gone'],
    ['proxy_read_timeout 30s;', 'gives up before the slowest answer, or long after'],
    ['server_tokens off;', 'tells its version'],
    ['ssl_protocols TLSv1.2 TLSv1.3;', 'speaks TLS that is broken'],
  ],
}

describe('the files of a deployment', () => {
  for (const [file, lines] of Object.entries(REQUIRED))
    for (const [line, without] of lines)
      it(`has "${line.replace(/\n\s+/, ' ')}" in ${file}, or it ${without}`, () => {
        const anywhere = line.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')
        assert.match(read(file), new RegExp(`^[ ]*${anywhere}$`, 'm'))
      })

  it('hardens every container of compose.yaml that runs our code', () => {
    const compose = read('compose.yaml')
    const ours = compose.match(/^.*\n +image: integration-.*$/gm) ?? []
    assert.equal(ours.length, 5)
    for (const each of ours) assert.match(each, /^ +<<: .*\*hardened\b/)
    assert.equal(compose.match(/^ {4}<<: \*(?:auth|api)$/gm)?.length, 6)
  })

  it('has the services of compose.yaml trust nginx alone about who calls', () => {
    const compose = read('compose.yaml')
    const web = /image: integration-web[\s\S]+?ipv4_address: ([\d.]+)/.exec(compose)?.[1]
    const trusted = [...compose.matchAll(/TRUSTED_PROXIES: (\S+)/g)].map(([, address]) => address)
    assert.deepEqual(trusted, [web, web])
    assert.equal(compose.match(/^ +ports:/gm)?.length, 1)
  })

  it('gives the key encryption key to the authorization server alone', () => {
    for (const file of ['systemd/integration-api.service', 'kubernetes/base/api.yaml'])
      assert.doesNotMatch(read(file), /key-encryption-key|KEY_ENCRYPTION_KEY/)
    for (const file of ['systemd/integration-auth.service', 'kubernetes/base/auth.yaml'])
      assert.match(read(file), /KEY_ENCRYPTION_KEY_FILE/)
    assert.deepEqual(read('compose.yaml').match(/^ +secrets: .*key_encryption_key.*$/gm), [
      '  secrets: [auth_database_url, auth_redis_url, key_encryption_key]',
    ])
  })
})
