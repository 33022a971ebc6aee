import assert from 'node:assert/strict'
import { copyFile, mkdtempDisposable, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onPath } from '../../../infra/local/child.ts'
import { ACME } from '../../../infra/local/seed/companies.ts'
import { forBlock } from '../../support/block.ts'
import { run } from '../../support/program.ts'
import { startTestStack } from '../../support/stack.ts'

/*
 * Generates clients from the published OpenAPI documents by openapi-generator. It does with that for Python,
 * unmodified, what an integration does, and compiles the others. The programs must be on the PATH, and the
 * packages that generated code needs are fetched: so this is a command of its own and not part of `npm test`.
 */
const COMMAND_DEADLINE_MS = 400_000
const OUTPUT_SHOWN_CHARACTERS = 3_000

/** Ends the command that runs, and fails the others, so that the stack is removed as after any other run. */
const interrupted = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => interrupted.abort())

interface Sdk {
  /** The language, as a person names it. */
  name: string
  /** As openapi-generator names it. */
  generator: string
  /** Where the source documents are published: with the workspace, and for integrations alone. */
  documents: readonly string[]
  /** A file of this folder that is copied beside what is generated. */
  file?: string
  /** Commands that are run in the folder in which `generated` is. */
  commands: string[][]
}

const WHOLE = '/openapi.json'
const INTEGRATIONS = '/openapi/integrations.json'
const TYPESCRIPT = ['--noEmit', '--strict', '--target', 'es2022', '--lib', 'es2022,dom']
const MODULES = ['--module', 'esnext', '--moduleResolution', 'bundler']
/** Loads everything, and has each way of authentication write its header. Needs the gem typhoeus. */
const RUBY_PROGRAM =
  'require "openapi_client"; OpenapiClient::Configuration.default.auth_settings; OpenapiClient::AnalyticsApi.new'
const PACKAGE_ALONE = ['-Dmaven.test.skip', '-Dmaven.javadoc.skip', '-Dmaven.source.skip', 'package']

const SDKS: readonly Sdk[] = [
  {
    name: 'Python',
    generator: 'python',
    documents: [WHOLE],
    file: 'openapi_generator.py',
    // As a person would install it: in a virtual environment, with the dependencies that the package names.
    commands: [
      ['python3', '-m', 'venv', 'venv'],
      ['venv/bin/pip', 'install', '--quiet', '--disable-pip-version-check', './generated'],
      ['venv/bin/python', 'openapi_generator.py'],
    ],
  },
  {
    name: 'Java',
    generator: 'java',
    documents: [WHOLE, INTEGRATIONS],
    commands: [['mvn', '--batch-mode', '--quiet', '--file', 'generated/pom.xml', ...PACKAGE_ALONE]],
  },
  {
    name: 'Kotlin',
    generator: 'kotlin',
    documents: [WHOLE, INTEGRATIONS],
    // The generated client is built by Gradle; this builds it by Maven.
    file: 'kotlin.xml',
    commands: [['mvn', '--batch-mode', '--quiet', '--file', 'kotlin.xml', 'compile']],
  },
  {
    name: 'TypeScript',
    generator: 'typescript-fetch',
    documents: [WHOLE, INTEGRATIONS],
    commands: [['tsc', ...TYPESCRIPT, ...MODULES, 'generated/index.ts']],
  },
  {
    name: 'Ruby',
    generator: 'ruby',
    // The generator has no code for an API key in a cookie, which the workspace has.
    documents: [INTEGRATIONS],
    commands: [['ruby', '-I', 'generated/lib', '-e', RUBY_PROGRAM]],
  },
  {
    name: 'Rust',
    generator: 'rust',
    documents: [INTEGRATIONS],
    commands: [['cargo', 'check', '--quiet', '--manifest-path', 'generated/Cargo.toml']],
  },
  {
    name: 'C#',
    generator: 'csharp',
    documents: [WHOLE, INTEGRATIONS],
    commands: [['dotnet', 'build', 'generated']],
  },
]

/** Returns the programs that are not installed. A path names what an earlier command made. */
async function findMissing(commands: string[][]): Promise<string[]> {
  const missing = new Set<string>()
  for (const [program = ''] of commands)
    if (!program.includes('/') && !(await onPath(program))) missing.add(program)
  return [...missing]
}

describe('clients that openapi-generator generates', function () {
  // Each command has a deadline of its own.
  this.timeout(0)
  const stack = forBlock(startTestStack)
  let tried = 0
  // A run of nothing has proven nothing.
  after(() => assert.ok(tried > 0, 'no client was tried'))

  for (const sdk of SDKS)
    for (const path of sdk.documents)
      it(`${sdk.name}, ${path}`, async function () {
        const generate = ['openapi-generator-cli', 'generate', '-g', sdk.generator]
        const commands = [[...generate, '-i', 'openapi.json', '-o', 'generated'], ...sdk.commands]
        const missing = await findMissing(commands)
        if (missing.length > 0) {
          console.log(`not installed: ${missing.join(', ')}`)
          this.skip()
        }
        tried += 1
        await using folder = await mkdtempDisposable(join(tmpdir(), 'integration-access-sdk-'))
        const document = await fetch(stack.baseUrl + path)
        await writeFile(join(folder.path, 'openapi.json'), await document.text())
        if (sdk.file) await copyFile(join(import.meta.dirname, sdk.file), join(folder.path, sdk.file))
        const account = { VENDOR_ID: ACME, EMAIL: 'owner@acme.example', PASSWORD: stack.demoPassword }
        const options = {
          cwd: folder.path,
          env: { ...process.env, BASE_URL: stack.baseUrl, ...account },
          timeout: COMMAND_DEADLINE_MS,
          signal: interrupted.signal,
          maxBuffer: Number.POSITIVE_INFINITY,
        }
        for (const [command = '', ...args] of commands)
          await run(command, args, options).catch(({ message, stdout, stderr }) => {
            const printed = [stdout, stderr].map((text) => text.trim().slice(-OUTPUT_SHOWN_CHARACTERS))
            assert.fail([message.split('\n', 1)[0], ...printed].join('\n'))
          })
      })
})
