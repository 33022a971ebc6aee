import assert from 'node:assert/strict'
import { PROBLEMS } from '../../apps/api/problems/problems.ts'
import { findService, GATEWAY_ROUTES, SCREEN_PATHS } from '../../infra/local/gateway/route.ts'
import {
  STRICT_TRANSPORT_SECURITY,
  WORKSPACE_HEADERS,
  workspaceCacheControl,
} from '../../infra/workspace-headers.ts'
import { readInfra } from '../support/deployment.ts'
import { HEALTH_PATHS, SERVED_PATHS } from '../support/served-paths.ts'

const NGINX = readInfra('deploy/nginx.conf')
const FILES = { 'nginx.conf': NGINX, 'workspace.conf': readInfra('deploy/workspace.conf') }
/** Paths that a proxy refuses, because services and proxies may read them differently, and others. */
const AMBIGUOUS = `/v1/oauth%2ftoken /v1/oauth%2Ftoken /v1/oauth%5ctoken /v1/%2e%2e/healthz /v1/%2E/oauth
  /v1/x%00 //v1/oauth/token /v1//oauth/token /v1/../metrics /v1/./oauth /v1/.. /v1/.`.split(/\s+/)
const PLAIN = `/v1/vendor/ven_1/oauth-clients /.well-known/oauth-authorization-server /assets/app-B..x.js
  /docs/a%20b`.split(/\s+/)

describe('the configurations of the proxies', () => {
  for (const { path, match, to } of GATEWAY_ROUTES)
    it(`sends ${path} to ${to} in nginx.conf`, () => {
      const location = `location ${match === 'exact' ? '=' : '^~'} ${path} {`
      const unanswered = to === 'auth' ? '    error_page 502 504 = @auth_unanswered;\n' : ''
      const rule = `${location}\n    proxy_pass http://integration_${to};\n${unanswered}  }`
      assert.ok(NGINX.includes(rule), rule)
    })

  it('sends each path that a service serves to that service, and none of those about its health', () => {
    for (const [name, paths] of Object.entries(SERVED_PATHS))
      for (const path of paths)
        assert.equal(findService(path), HEALTH_PATHS.includes(path) ? undefined : name, path)
    for (const { path, match, to } of GATEWAY_ROUTES)
      assert.ok(
        SERVED_PATHS[to].some((served) => (match === 'exact' ? served === path : served.startsWith(path))),
        `${to} serves nothing at ${path}`,
      )
    for (const path of HEALTH_PATHS) assert.ok(NGINX.includes(`location = ${path} {\n    return 404;`), path)
  })

  it('sends each path to the same service by the example of an Ingress, and all others to the pages', () => {
    const ingress = readInfra('deploy/kubernetes/base/ingress.yaml')
    const rules = [
      ...ingress.matchAll(
        /path: (\S+), pathType: (\w+), .* name: integration-(\w+), port: \{ name: http \}/g,
      ),
    ]
    assert.deepEqual(
      rules.map(([, path, type, to]) => [path, type, to]),
      [
        ...GATEWAY_ROUTES.map(({ path, match, to }) => [path, match === 'exact' ? 'Exact' : 'Prefix', to]),
        ['/', 'Prefix', 'web'],
      ],
    )
  })

  it('refuses a path that proxy and service may read differently, and no other', () => {
    const ambiguous = new RegExp(/"~\*(\S+)" 1;/.exec(NGINX)?.[1] ?? assert.fail(), 'i')
    const refused = [...PLAIN, ...AMBIGUOUS].filter((path) => ambiguous.test(path))
    assert.deepEqual(refused, AMBIGUOUS)
  })

  for (const [name, text] of Object.entries(FILES)) {
    it(`gives each of the workspace's files all its headers in ${name}`, () => {
      const [, workspace = ''] = text.split('\n  location / {\n')
      const headers = [...workspace.matchAll(/^ {4}add_header (\S+) "(.*)" always;$/gm)]
      assert.deepEqual(Object.fromEntries(headers.map(([, header, value]) => [header, value])), {
        ...WORKSPACE_HEADERS,
        'Strict-Transport-Security': STRICT_TRANSPORT_SECURITY,
      })
      assert.match(workspace, /^ {4}add_header Cache-Control \$integration_cache always;$/m)
      assert.match(workspace, /^ {4}gzip_static on;\n {4}gzip_vary on;$/m)
      // A location inside with a field of its own would inherit none.
      assert.doesNotMatch(workspace, /^ {6}add_header/m)
      const [, other, assets] = /default (\S+);\n {2}"~\^\/assets\/" "(.+)";/.exec(text) ?? []
      assert.deepEqual([other, assets], [workspaceCacheControl('/'), workspaceCacheControl('/assets/')])
    })

    it(`serves the workspace’s page with 200 only for its screens in ${name}`, () => {
      assert.ok(text.includes(`location ~ "${SCREEN_PATHS.source}" {`))
      const served = ['try_files $uri =404;', 'error_page 404 /index.html;', 'try_files /index.html =404;']
      assert.deepEqual(text.match(/try_files .+|error_page 404 .+/g), served)
    })
  }

  it('answers for a missing service as that would in nginx.conf', () => {
    const problem = { type: '/docs/errors#problem-unavailable', ...PROBLEMS.unavailable, code: 'unavailable' }
    const form = /^ {2}location @(\w+)_unanswered \{\n([^}]*?) {4}return (\d+) '(.+)';\n {2}\}$/gm
    const answers = [...NGINX.matchAll(form)]
    assert.equal(answers.map(([, name]) => name).join(), 'auth,api,callback')
    for (const [, name, block, status, body = ''] of answers) {
      const [type, expected] =
        name === 'auth' ? ['json', { error: 'temporarily_unavailable' }] : ['problem+json', problem]
      assert.match(
        block ?? '',
        new RegExp(`^ {4}default_type application/${type.replace('+', '\\+')};$`, 'm'),
      )
      for (const field of ['Cache-Control no-store', 'Retry-After 2'])
        assert.ok(block?.includes(`    add_header ${field} always;\n`), `${name}: ${field}`)
      assert.equal(Number(status), PROBLEMS.unavailable.status)
      assert.partialDeepStrictEqual(JSON.parse(body), expected)
    }
  })

  it('keeps the code of a sign-in out of both nginx logs', () => {
    assert.match(
      NGINX,
      /location = \/v1\/session\/openid\/callback \{\n {4}access_log off;\n {4}error_log \/dev\/null;\n {4}error_page 502 504 = @callback_unanswered;\n {4}proxy_pass http:\/\/integration_api;\n/,
    )
    // nginx logs a request where it was answered in the end.
    assert.match(NGINX, /location @callback_unanswered \{\n {4}access_log off;\n/)
  })
})
