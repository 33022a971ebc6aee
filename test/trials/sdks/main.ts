import { execFile } from 'node:child_process'
import { copyFile, mkdtempDisposable, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { onPath } from '../../../infra/local/child.ts'
import { ACME } from '../../../infra/local/seed/companies.ts'
import { startTestStack, type TestStack } from '../../support/stack.ts'
import { SDKS, type Sdk } from './sdks.ts'

/*
 * Generates clients from the published OpenAPI documents by openapi-generator. It does with that for Python, unmodified,
 * what an integration does, and compiles the others. The programs must be on the PATH, and the packages that generated
 * code needs are fetched: so this is a command of its own and not part of `npm test`. `npm run sdks -- Java` tries only
 * the clients with one of the words in their name.
 */
const STEPS = ['generate', 'build', 'sign in', 'list', 'create', 'token', 'report', 'read', 'revoke'] as const
const COMMAND_DEADLINE_MS = 400_000
const OUTPUT_SHOWN_CHARACTERS = 3_000
const EXIT_INTERRUPTED = 130

const run = promisify(execFile)
const interrupted = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => interrupted.abort())

/** Returns the programs that are not installed. A path names what an earlier command made. */
async function missingOf({ build }: Sdk): Promise<string[]> {
  const missing = new Set<string>()
  for (const program of ['openapi-generator-cli', ...build.map(([first = '']) => first)])
    if (!program.includes('/') && !(await onPath(program))) missing.add(program)
  return [...missing]
}

/** Returns the steps that worked, in their order, and what the command that failed has printed. */
async function trySdk(sdk: Sdk, path: string, stack: TestStack) {
  const done: string[] = []
  await using folder = await mkdtempDisposable(join(tmpdir(), 'integration-access-sdk-'))
  const document = await fetch(stack.baseUrl + path)
  await writeFile(join(folder.path, 'openapi.json'), await document.text())
  if (sdk.file) await copyFile(join(import.meta.dirname, sdk.file), join(folder.path, sdk.file))
  const account = { VENDOR_ID: ACME, EMAIL: 'owner@acme.example', PASSWORD: stack.demoPassword }
  const runHere = ([command = '', ...args]: string[]) =>
    run(command, args, {
      cwd: folder.path,
      env: { ...process.env, BASE_URL: stack.baseUrl, ...account },
      timeout: COMMAND_DEADLINE_MS,
      signal: interrupted.signal,
      maxBuffer: Number.POSITIVE_INFINITY,
    })
  const generate = ['openapi-generator-cli', 'generate', '-g', sdk.generator]
  try {
    await runHere([...generate, '-i', 'openapi.json', '-o', 'generated'])
    done.push('generate')
    for (const command of sdk.build) await runHere(command)
    done.push('build')
    if (sdk.run) done.push(...linesOf((await runHere(sdk.run)).stdout))
    const missed = sdk.run ? STEPS.filter((step) => !done.includes(step)) : []
    return { done, failure: missed.length > 0 ? `The program did not print: ${missed.join(', ')}` : '' }
  } catch (error) {
    const { stdout = '', stderr = '', message } = error as Error & { stdout?: string; stderr?: string }
    if (done.includes('build')) done.push(...linesOf(stdout))
    const printed = [stdout, stderr].map((text) => text.trim().slice(-OUTPUT_SHOWN_CHARACTERS))
    return { done, failure: [message.split('\n', 1)[0], ...printed].join('\n').trim() }
  }
}

const linesOf = (text: string): string[] => text.split('\n').filter(Boolean)

const words = process.argv.slice(2)
const sdks = SDKS.filter(({ name }) => words.length === 0 || words.some((word) => name.includes(word)))
const stack = await startTestStack()
let succeeded = 0
try {
  for (const [sdk, path] of sdks.flatMap((sdk) => sdk.documents.map((path) => [sdk, path] as const))) {
    if (interrupted.signal.aborted) break
    const name = `${sdk.name}, ${path}`
    const missing = await missingOf(sdk)
    if (missing.length > 0) {
      process.stdout.write(`${name}: not installed: ${missing.join(', ')}\n`)
      continue
    }
    const { done, failure } = await trySdk(sdk, path, stack)
    process.stdout.write(`${name}: ${done.join(', ')}${failure && `; FAILED: ${failure}`}\n`)
    if (failure) process.exitCode = 1
    else succeeded += 1
  }
} finally {
  await stack.remove()
}
if (succeeded === 0) process.exitCode = 1
if (interrupted.signal.aborted) process.exitCode = EXIT_INTERRUPTED
