import assert from 'node:assert/strict'
import { copyFile, mkdtempDisposable, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ACME } from '../../../infra/local/seed/companies.ts'
import { forBlock } from '../../support/block.ts'
import { run } from '../../support/program.ts'
import { startTestStack } from '../../support/stack.ts'

/*
 * Generates a Python client from the published OpenAPI document by openapi-generator, and does with it,
 * unmodified, what an integration does. The programs must be on the PATH, and the packages that the client
 * needs are fetched: so this is a command of its own and not part of `npm test`.
 */
const COMMAND_DEADLINE_MS = 400_000
const OUTPUT_SHOWN_CHARACTERS = 3_000
const PROGRAM = 'openapi_generator.py'
/** As a person would install it: in a virtual environment, with the dependencies that the package names. */
const COMMANDS = [
  ['openapi-generator-cli', 'generate', '-g', 'python', '-i', 'openapi.json', '-o', 'generated'],
  ['python3', '-m', 'venv', 'venv'],
  ['venv/bin/pip', 'install', '--quiet', '--disable-pip-version-check', './generated'],
  ['venv/bin/python', PROGRAM],
]

/** Ends the command that runs, so that the stack is removed as after any other run. */
const interrupted = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => interrupted.abort())

describe('the client that openapi-generator generates', function () {
  // Each command has a deadline of its own.
  this.timeout(0)
  const stack = forBlock(startTestStack)

  it('does what an integration does', async () => {
    await using folder = await mkdtempDisposable(join(tmpdir(), 'integration-access-sdk-'))
    const document = await fetch(`${stack.baseUrl}/openapi.json`)
    await writeFile(join(folder.path, 'openapi.json'), await document.text())
    await copyFile(join(import.meta.dirname, PROGRAM), join(folder.path, PROGRAM))
    const account = { VENDOR_ID: ACME, EMAIL: 'owner@acme.example', PASSWORD: stack.demoPassword }
    const options = {
      cwd: folder.path,
      env: { ...process.env, BASE_URL: stack.baseUrl, ...account },
      timeout: COMMAND_DEADLINE_MS,
      signal: interrupted.signal,
      maxBuffer: Number.POSITIVE_INFINITY,
    }
    for (const [command = '', ...args] of COMMANDS)
      await run(command, args, options).catch(({ message, stdout, stderr }) => {
        const printed = [stdout, stderr].map((text) => text.trim().slice(-OUTPUT_SHOWN_CHARACTERS))
        assert.fail([message.split('\n', 1)[0], ...printed].join('\n'))
      })
  })
})
