import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { integrationsDocument } from '../../apps/api/discovery/openapi/integrations.ts'
import { describeApi } from '../../apps/api/routes.ts'
import { writeFiles } from '../support/files.ts'
import { sharedFolder } from '../support/folder.ts'
import { API_RESOURCE, ISSUER } from '../support/issuer.ts'
import { run } from '../support/program.ts'
import { hasPip, installProgram } from '../support/python-programs.ts'

const REDOCLY = join(createRequire(import.meta.url).resolve('@redocly/cli/package.json'), '../bin/cli.js')

const ALL = describeApi({ issuer: ISSUER, apiResource: API_RESOURCE })

const unrun = hasPip ? 'none' : 'openapi-spec-validator, which needs Python with venv'

describe(`rules of others for the OpenAPI documents; not run here: ${unrun}`, () => {
  const folder = sharedFolder()
  let validator: string
  before(async () => {
    if (hasPip)
      validator = await installProgram(folder, 'openapi-spec-validator', 'openapi-spec-validator==0.9.0')
  })

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
        assert.deepEqual(
          problems.map(({ ruleId, message, location }: Record<string, unknown>) => [
            ruleId,
            message,
            location,
          ]),
          [],
        )
      })

      if (hasPip)
        it('passes openapi-spec-validator, which compiles each pattern in Python', async () => {
          const { stdout } = await run(validator, ['openapi.json'], { cwd: folder }).catch((error) => error)
          assert.equal(stdout, 'openapi.json: OK\n')
        })
    })
})
