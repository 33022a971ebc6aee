import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { PROBLEMS } from '#shared/problems/problems.ts'
import { ROUTES, SCREEN_PATHS } from '../../infra/local/gateway/route.ts'
import {
  STRICT_TRANSPORT_SECURITY,
  WORKSPACE_HEADERS,
  workspaceCacheControl,
} from '../../infra/workspace-headers.ts'

const FOLDER = join(import.meta.dirname, '../../infra/deploy')
const FILES = Object.fromEntries(
  ['nginx.conf', 'haproxy.cfg', 'workspace.conf'].map((name) => [
    name,
    readFileSync(join(FOLDER, name), 'utf8'),
  ]),
)
/** Paths that a backend might read differently from the proxy. */
const AMBIGUOUS = '(?://|/[.]{1,2}(?:/|$)|%(?:2e|2f|5c|00))'

/** What must never leave a file, whatever else changes: each line, and what a proxy would do without it. */
const REQUIRED: Record<string, [line: string, why: string][]> = {
  'nginx.conf': [
    ['  proxy_next_upstream error timeout;', 'fail with a host that is gone, or repeat a POST'],
    ['  proxy_next_upstream_timeout 5s;', 'ask twice for an answer that takes half a minute'],
    ['  proxy_next_upstream_tries 2;', 'try every instance'],
    ['  "~^(?<path>[^?]*)" $path;', 'judge the path after it was decoded'],
    [`  "~*${AMBIGUOUS}" 1;`, 'pass on what a service reads as another path'],
    ['  if ($integration_ambiguous) {\n    return 400;', 'pass it on all the same'],
    ['  merge_slashes off;', 'choose the service by another path than the one sent'],
    ['  location = /healthz {\n    return 404;', 'answer for one instance'],
    ['  location = /readyz {\n    return 404;', 'answer for one instance'],
    ['  location = /metrics {\n    return 404;', 'answer with a page'],
    ['  proxy_set_header X-Forwarded-For $remote_addr;', "believe the caller's own address"],
    ['  proxy_set_header X-Request-Id $request_id;', "believe the caller's own request id"],
    ['  proxy_set_header X-Forwarded-Proto "";', 'pass on what a caller says of itself'],
    ['  proxy_set_header Forwarded "";', 'pass on what a caller says of itself'],
    ['  proxy_set_header traceparent "";', "let strangers join the operator's traces"],
    ['  proxy_set_header tracestate "";', "let strangers join the operator's traces"],
    ['  add_header Strict-Transport-Security "max-age=31536000" always;', 'let browsers come back by http'],
    ['    error_page 502 504 = @auth_unanswered;', 'answer OAuth clients in HTML'],
    ['  error_page 502 504 = @api_unanswered;', 'answer in HTML'],
    ...['auth-1:8081', 'auth-2:8081', 'api-1:8082', 'api-2:8082'].map((instance): [string, string] => [
      `  server ${instance} max_fails=1 fail_timeout=3s;`,
      'wait for an instance that is gone with every other request, or leave it out for long',
    ]),
  ],
  'haproxy.cfg': [
    ['  retry-on conn-failure', 'repeat a POST that an instance may have carried out'],
    ['  option redispatch', 'try the same instance again'],
    [
      `  http-request deny deny_status 400 if { path -m reg -i ${AMBIGUOUS} }`,
      'pass on what a service reads as another path',
    ],
    [
      '  http-request deny deny_status 404 if { path /healthz /readyz /metrics }',
      'answer for one instance, or with a page',
    ],
    ['  http-request set-header X-Forwarded-For %[src]', "believe the caller's own address"],
    ['  http-request set-header X-Request-Id %[unique-id]', "believe the caller's own request id"],
    ['  http-request del-header X-Forwarded-Proto', 'pass on what a caller says of itself'],
    ['  http-request del-header Forwarded', 'pass on what a caller says of itself'],
    ['  http-request del-header traceparent', "let strangers join the operator's traces"],
    ['  http-request del-header tracestate', "let strangers join the operator's traces"],
    [
      '  http-after-response set-header Strict-Transport-Security "max-age=31536000"',
      'let browsers come back by http',
    ],
    ['  http-check send meth GET uri /readyz', 'send requests to an instance that is not ready'],
    ['  http-check expect status 200', 'send requests to an instance that is not ready'],
  ],
}

/** A path, and whether a proxy refuses it because services and proxies may read it differently. */
const PATHS: [path: string, isAmbiguous: boolean][] = [
  ['/v1/vendor/ven_1/oauth-clients', false],
  ['/.well-known/oauth-authorization-server', false],
  ['/assets/app-B..x.js', false],
  ['/docs/a%20b', false],
  ['/v1/oauth%2ftoken', true],
  ['/v1/oauth%2Ftoken', true],
  ['/v1/oauth%5ctoken', true],
  ['/v1/%2e%2e/healthz', true],
  ['/v1/%2E/oauth', true],
  ['/v1/x%00', true],
  ['//v1/oauth/token', true],
  ['/v1//oauth/token', true],
  ['/v1/../metrics', true],
  ['/v1/./oauth', true],
  ['/v1/..', true],
  ['/v1/.', true],
]

describe('the configurations of the proxies', () => {
  for (const [name, text] of Object.entries(FILES)) {
    // The server of the pages alone sends nothing on.
    for (const { path, match, to } of name === 'workspace.conf' ? [] : ROUTES)
      it(`sends ${path} to ${to} in ${name}`, () => {
        const rule = {
          'nginx.conf': `location ${match === 'exact' ? '=' : '^~'} ${path} {\n    proxy_pass http://integration_${to};`,
          'haproxy.cfg': `use_backend ${to} if { ${match === 'exact' ? 'path' : 'path_beg'} ${path} }`,
        }[name]
        assert.ok(rule && text.includes(rule), rule)
      })

    for (const [line, why] of REQUIRED[name] ?? [])
      it(`${name} has "${line.trim()}", or it would ${why}`, () => {
        assert.ok(`\n${text}`.includes(`\n${line}\n`), text)
      })
  }

  it('refuses a path that proxy and service may read differently, and no other', () => {
    const ambiguous = new RegExp(AMBIGUOUS, 'i')
    assert.deepEqual(
      PATHS.map(([path]) => [path, ambiguous.test(path)]),
      PATHS,
    )
  })

  for (const name of ['nginx.conf', 'workspace.conf'])
    it(`gives each of the workspace's files all its headers in ${name}`, () => {
      const locations = (FILES[name] ?? '').split('try_files').slice(1)
      assert.equal(locations.length, 4)
      for (const [index, location] of locations.entries())
        for (const [header, value] of Object.entries({
          ...WORKSPACE_HEADERS,
          'Strict-Transport-Security': STRICT_TRANSPORT_SECURITY,
          'Cache-Control': workspaceCacheControl(index === 0 ? '/assets/' : '/'),
        }))
          assert.ok(location.includes(`add_header ${header} "${value}" always;`), header)
    })
  for (const name of ['nginx.conf', 'workspace.conf'])
    it(`serves the workspace’s page only for its screens in ${name}`, () => {
      const text = FILES[name] ?? ''
      assert.ok(text.includes(`location ~ "${SCREEN_PATHS.source}" {`))
      assert.equal(text.split('/index.html').length, 2)
    })

  // nginx answers every failure with 503, haproxy with the status that fits.
  for (const [name, codes] of [
    ['nginx.conf', ['unavailable']],
    ['haproxy.cfg', ['bad_gateway', 'unavailable', 'gateway_timeout']],
  ] as const)
    it(`answers for a missing API as the API would in ${name}`, () => {
      const bodies = [...(FILES[name] ?? '').matchAll(/'(\{"type":.*?\})'/g)].map(([, body = '']) =>
        JSON.parse(body),
      )
      assert.deepEqual([...new Set(bodies.map(({ code }) => code))], codes)
      for (const { type, title, status, code } of bodies) {
        const problem = PROBLEMS[code as (typeof codes)[number]]
        assert.deepEqual(
          [type, title, status],
          [`/docs/errors#problem-${code}`, problem.title, problem.status],
        )
      }
    })

  it('keeps the code of a sign-in out of both nginx logs', () => {
    assert.match(
      FILES['nginx.conf'] ?? '',
      /location = \/v1\/session\/openid\/callback \{\n {4}access_log off;\n {4}error_log \/dev\/null;\n {4}error_page 502 504 = @callback_unanswered;\n/,
    )
    // nginx logs a request where it was answered in the end.
    assert.match(FILES['nginx.conf'] ?? '', /location @callback_unanswered \{\n {4}access_log off;\n/)
  })
})
