import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { PROXY_FILES } from '../../infra/deploy/proxies.ts'
import { ROUTES } from '../../infra/local/gateway/route.ts'
import { WORKSPACE_HEADERS } from '../../infra/workspace-headers.ts'

const FOLDER = join(import.meta.dirname, '../../infra/deploy')

describe('the configurations of the proxies', () => {
  for (const [name, printed] of Object.entries(PROXY_FILES)) {
    it(`${name} is what the code prints`, () => {
      assert.equal(readFileSync(join(FOLDER, name), 'utf8'), printed, 'node infra/deploy/print.ts')
    })

    for (const { path, match, to } of ROUTES)
      it(`${name} sends ${path} to ${to}`, () => {
        const rule = {
          'nginx.conf': `location ${match === 'exact' ? '=' : '^~'} ${path} {\n    proxy_pass http://integration_${to};`,
          'haproxy.cfg': `use_backend ${to} if { ${match === 'exact' ? 'path' : 'path_beg'} ${path} }`,
        }[name]
        assert.ok(rule && printed.includes(rule), rule)
      })

    for (const [header, value] of Object.entries(WORKSPACE_HEADERS))
      it(`${name} gives the workspace's files ${header}`, () => {
        assert.ok(printed.includes(`${header} "${value}"`))
      })
  }

  it('nginx.conf keeps the code of a sign-in out of both logs', () => {
    assert.match(
      PROXY_FILES['nginx.conf'] ?? '',
      /location = \/v1\/session\/openid\/callback \{\n {4}access_log off;\n {4}error_log \/dev\/null;\n/,
    )
  })
})
