import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { integrationsDocument } from '../../apps/api/discovery/openapi/integrations.ts'
import { describeApi } from '../../apps/api/routes.ts'
import { writeFiles } from '../support/files.ts'
import { sharedFolder } from '../support/folder.ts'
import { API_RESOURCE, ISSUER } from '../support/issuer.ts'

const REDOCLY = join(createRequire(import.meta.url).resolve('@redocly/cli/package.json'), '../bin/cli.js')

const ALL = describeApi({ issuer: ISSUER, apiResource: API_RESOURCE })

describe('the OpenAPI documents, by the rules of others', () => {
  const folder = sharedFolder()

  for (const [path, document, ignored] of [
    // It only ever leads a browser on.
    ['/openapi.json', ALL, "    - '#/paths/~1v1~1session~1openid~1callback/get/responses'"],
    ['/openapi/integrations.json', integrationsDocument(ALL), '    []'],
  ] as const)
    describe(`GET ${path}`, () => {
      before(() => writeFiles(folder, { 'openapi.json': JSON.stringify(document) }))

      it("passes Redocly's recommended rules", async () => {
        await writeFiles(folder, {
          'redocly.yaml': 'extends: [recommended]',
          '.redocly.lint-ignore.yaml': `openapi.json:\n  operation-2xx-response:\n${ignored}\n`,
        })
        const lint = spawnSync(process.execPath, [REDOCLY, 'lint', 'openapi.json', '--format=json'], {
          cwd: folder,
          encoding: 'utf8',
          env: { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' },
        })
        const { problems } = JSON.parse(lint.stdout)
        assert.deepEqual(problems, [])
      })
    })
})
