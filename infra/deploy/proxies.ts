import { PROBLEMS, type ProblemCode } from '#shared/problems/problems.ts'
import { ROUTES, type Route, SCREEN_PATHS } from '../local/gateway/route.ts'
import { STRICT_TRANSPORT_SECURITY, WORKSPACE_HEADERS, workspaceCacheControl } from '../workspace-headers.ts'

/** Where a proxy listens, and its backends. */
export interface Installation {
  /** Instances as `host:port`. */
  auth: string[]
  api: string[]
  /** `443 ssl` for nginx and `:443 ssl crt …` for haproxy, or a plain port for a test. */
  listen: string
  /** The built workspace: a folder for nginx, the `host:port` of its server for haproxy. */
  workspace: string
  /** haproxy only: whether a request goes to another instance if its connection fails. */
  retry?: boolean
}

/** Paths that a backend might read differently from the proxy. */
export const AMBIGUOUS = '(?://|/[.]{1,2}(?:/|$)|%(?:2e|2f|5c|00))'
/** The OpenID provider's redirect path. */
const OPENID_CALLBACK = '/v1/session/openid/callback'
/** Paths that only the services themselves answer, never a proxy. */
const HIDDEN_PATHS = ['/healthz', '/readyz', '/metrics']
const UNANSWERED = 'No instance could be reached, or it timed out. Try again shortly.'
const RETRY_AFTER_S = 2
const PREAMBLE = '# Printed by `node infra/deploy/print.ts`; do not edit. The runbook explains it.\n'

/** The configuration of nginx, which serves the workspace itself. */
export function nginxConfiguration({ auth, api, listen, workspace }: Installation): string {
  return `${PREAMBLE}
${upstream('auth', auth)}
${upstream('api', api)}
# By the bytes that came, before the query.
map $request_uri $integration_path {
  "~^(?<path>[^?]*)" $path;
}
map $integration_path $integration_ambiguous {
  default 0;
  "~*${AMBIGUOUS}" 1;
}

server {
  listen ${listen};
  server_name _;
  server_tokens off;
  client_max_body_size 1m;
  client_header_timeout 10s;
  client_body_timeout 20s;
  merge_slashes off;
  # Not inherited where other fields are added, so each such place names it again.
  add_header Strict-Transport-Security "${STRICT_TRANSPORT_SECURITY}" always;

  if ($integration_ambiguous) {
    return 400;
  }

  # Callers' own values of these never reach a service.
  proxy_set_header Host $host;
  proxy_set_header X-Forwarded-For $remote_addr;
  proxy_set_header X-Request-Id $request_id;
  proxy_set_header X-Caller-Request-Id $http_x_request_id;
  proxy_set_header X-Forwarded-Proto "";
  proxy_set_header Forwarded "";
  proxy_set_header traceparent "";
  proxy_set_header tracestate "";
  proxy_set_header Connection "";
  proxy_http_version 1.1;
  proxy_connect_timeout 1s;
  proxy_read_timeout 30s;
  # A request goes to another instance only if the first never got it.
  proxy_next_upstream error;
  proxy_next_upstream_tries 2;
  error_page 502 504 = @api_unanswered;

  # Its query has the code of a sign-in, which is no log's business. The error log would quote it with each 502.
  location = ${OPENID_CALLBACK} {
    access_log off;
    error_log /dev/null;
    error_page 502 504 = @callback_unanswered;
    proxy_pass http://integration_api;
  }
${ROUTES.map(nginxLocation).join('\n')}
${HIDDEN_PATHS.map((path) => `  location = ${path} {\n    return 404;\n  }`).join('\n')}
${nginxUnanswered('@auth_unanswered', 'auth')}
${nginxUnanswered('@api_unanswered', 'api')}
${nginxUnanswered('@callback_unanswered', 'api', '\n    access_log off;')}
${nginxPages(workspace)}
}
`
}

/** The configuration of an nginx that only serves the workspace's files, for a proxy that cannot. */
export function workspaceConfiguration({ listen, workspace }: { listen: string; workspace: string }): string {
  return `${PREAMBLE}
server {
  listen ${listen};
  server_name _;
  server_tokens off;
${nginxPages(workspace)}
}
`
}

const nginxPages = (folder: string): string => `
  root ${folder};
  location ^~ /assets/ {
    try_files $uri =404;
${headers(workspaceCacheControl('/assets/'))}
  }
  location ~ [.][^/]*$ {
    try_files $uri =404;
${headers(workspaceCacheControl('/'))}
  }
  location / {
    limit_except GET {
      deny all;
    }
    try_files $uri =404;
${headers(workspaceCacheControl('/'))}
  }
  location ~ "${SCREEN_PATHS.source}" {
    limit_except GET {
      deny all;
    }
    try_files /index.html =404;
${headers(workspaceCacheControl('/'))}
  }`

/** The media type and body of the proxy's own error answer, in the format of the missing service. */
function unansweredBody(to: Route['to'], code: ProblemCode, requestId: string): [type: string, body: string] {
  const { status, title } = PROBLEMS[code]
  return to === 'auth'
    ? [
        'application/json',
        JSON.stringify({ error: 'temporarily_unavailable', error_description: UNANSWERED }),
      ]
    : [
        'application/problem+json',
        JSON.stringify({
          type: `/docs/errors#problem-${code}`,
          title,
          status,
          detail: UNANSWERED,
          code,
          requestId,
        }),
      ]
}

function nginxUnanswered(name: string, to: Route['to'], more = ''): string {
  const [type, body] = unansweredBody(to, 'unavailable', '$request_id')
  return `  location ${name} {${more}
    default_type ${type};
    add_header Strict-Transport-Security "${STRICT_TRANSPORT_SECURITY}" always;
    add_header Cache-Control no-store always;
    add_header Retry-After ${RETRY_AFTER_S} always;
    add_header X-Request-Id $request_id always;
    return ${PROBLEMS.unavailable.status} '${body}';
  }`
}

/** Without max_fails=0, nginx would skip a restarted instance for ten seconds, when the other may be down. */
const upstream = (name: string, instances: string[]): string => `upstream integration_${name} {
${instances.map((instance) => `  server ${instance} max_fails=0;\n`).join('')}  keepalive 32;
}
`

function nginxLocation({ path, match, to }: Route): string {
  const unanswered = to === 'auth' ? '\n    error_page 502 504 = @auth_unanswered;' : ''
  return `  location ${match === 'exact' ? '=' : '^~'} ${path} {\n    proxy_pass http://integration_${to};${unanswered}\n  }`
}

const headers = (cacheControl: string): string =>
  Object.entries({
    'Strict-Transport-Security': STRICT_TRANSPORT_SECURITY,
    ...WORKSPACE_HEADERS,
    'Cache-Control': cacheControl,
  })
    .map(([name, value]) => `    add_header ${name} "${value}" always;`)
    .join('\n')

/** The configuration of haproxy, which asks every instance each second whether it is ready. */
export function haproxyConfiguration(installation: Installation): string {
  const { auth, api, listen, workspace, retry = true } = installation
  return `${PREAMBLE}
global
  maxconn 4000

defaults
  mode http
  timeout connect 1s
  timeout client 30s
  timeout server 30s
  timeout http-request 10s
  timeout http-keep-alive 60s
${retry ? '  retries 2\n  retry-on conn-failure\n  option redispatch\n' : '  retries 0\n'}
frontend integration
  bind ${listen}
  http-request deny deny_status 400 if { path -m reg -i ${AMBIGUOUS} }
  http-request deny deny_status 404 if { path ${HIDDEN_PATHS.join(' ')} }
  # Callers' own values of these never reach a service.
  http-request set-header X-Caller-Request-Id %[req.hdr(X-Request-Id)] if { req.hdr(X-Request-Id) -m found }
  http-request del-header X-Caller-Request-Id unless { req.hdr(X-Request-Id) -m found }
  unique-id-format %[uuid()]
  http-request set-header X-Request-Id %[unique-id]
  http-request set-header X-Forwarded-For %[src]
  http-request del-header X-Forwarded-Proto
  http-request del-header Forwarded
  http-request del-header traceparent
  http-request del-header tracestate
  http-after-response set-header Strict-Transport-Security "${STRICT_TRANSPORT_SECURITY}"
${ROUTES.map(haproxyRule).join('\n')}
  default_backend workspace

${backend('auth', auth)}
${backend('api', api)}
backend workspace
  http-request deny deny_status 405 unless METH_GET
  server workspace ${workspace}
`
}

const haproxyRule = ({ path, match, to }: Route): string =>
  `  use_backend ${to} if { ${match === 'exact' ? 'path' : 'path_beg'} ${path} }`

function haproxyUnanswered(to: Route['to'], code: ProblemCode): string {
  const [type, body] = unansweredBody(to, code, '%[unique-id]')
  const fields = { 'Retry-After': RETRY_AFTER_S, 'Cache-Control': 'no-store', 'X-Request-Id': '%[unique-id]' }
  const named = Object.entries(fields).map(([name, value]) => `hdr ${name} ${value}`)
  return `  http-error status ${PROBLEMS[code].status} content-type ${type} lf-string '${body}' ${named.join(' ')}`
}

const backend = (name: Route['to'], instances: string[]): string => `backend ${name}
  option httpchk
  http-check send meth GET uri /readyz
  http-check expect status 200
  default-server check inter 1s fall 1 rise 1
${(['bad_gateway', 'unavailable', 'gateway_timeout'] as const).map((code) => haproxyUnanswered(name, code)).join('\n')}
${instances.map((instance, i) => `  server ${name}-${i + 1} ${instance}`).join('\n')}
`

const SHIPPED = { auth: ['auth-1:8081', 'auth-2:8081'], api: ['api-1:8082', 'api-2:8082'] }

/** The generated files of this folder, by name. */
export const PROXY_FILES: Record<string, string> = {
  'nginx.conf': nginxConfiguration({
    ...SHIPPED,
    listen: '443 ssl http2',
    workspace: '/srv/workspace',
  }).replace(
    '  server_name _;\n',
    '  server_name _;\n  ssl_certificate /etc/integration/tls/tls.crt;\n  ssl_certificate_key /etc/integration/tls/tls.key;\n  ssl_protocols TLSv1.2 TLSv1.3;\n',
  ),
  'haproxy.cfg': haproxyConfiguration({
    ...SHIPPED,
    listen: ':443 ssl crt /etc/integration/tls/tls.pem alpn h2,http/1.1 ssl-min-ver TLSv1.2',
    workspace: 'workspace:8083',
  }),
  'workspace.conf': workspaceConfiguration({ listen: '8083', workspace: '/srv/workspace' }),
}
