import { execFile } from 'node:child_process'
import { copyFile, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { ACME } from '../../../infra/local/seed/companies.ts'
import { startTestStack, type TestStack } from '../../support/stack.ts'
import { findTool, type OpenapiDocument, SDKS, type Sdk, type Tool } from './sdks.ts'

/*
 * Generates clients from the published OpenAPI documents. It does with some of them, unmodified, what an integration
 * does, and compiles the others. The generators must be installed, and the packages that generated code needs are fetched: so this is a
 * command of its own and not part of `npm test`.
 */
const STEPS = ['generate', 'build', 'sign in', 'list', 'create', 'token', 'report', 'read', 'revoke'] as const
const COMMAND_DEADLINE_MS = 400_000
const OUTPUT_SHOWN_CHARACTERS = 3_000
const EXIT_INTERRUPTED = 130

interface Outcome {
  sdk: Sdk
  version: string
  missing: Tool[]
  /** The steps that worked, in their order. */
  done: string[]
  /** What was printed by the command that failed. */
  failure?: string
}

const run = promisify(execFile)
const interrupted = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => interrupted.abort())

/** @throws Error with `stdout` and `stderr`; also when the command takes too long or is interrupted. */
const runIn = (folder: string, [command = '', ...args]: string[], env: Record<string, string> = {}) =>
  run(command, args, {
    cwd: folder,
    env: { ...process.env, ...env },
    timeout: COMMAND_DEADLINE_MS,
    maxBuffer: Number.POSITIVE_INFINITY,
    signal: interrupted.signal,
  })

/** Where each document is published. */
const PATHS: Record<OpenapiDocument, string> = {
  'openapi.json': '/openapi.json',
  'integrations.json': '/openapi/integrations.json',
}

async function trySdk(sdk: Sdk, folder: string, stack: TestStack): Promise<Outcome> {
  const files = new Map<Tool, string>()
  const outcome: Outcome = { sdk, version: '', missing: [], done: [] }
  for (const tool of [sdk.generator, ...sdk.others]) {
    const file = await findTool(tool)
    if (file) files.set(tool, file)
    else outcome.missing.push(tool)
  }
  if (outcome.missing.length > 0) return outcome
  const fileOf = (tool: Tool) => files.get(tool) as string
  await mkdir(join(folder, 'client'), { recursive: true })
  const document = await fetch(stack.baseUrl + PATHS[sdk.document])
  await writeFile(join(folder, sdk.document), await document.text())
  if (sdk.program) await copyFile(join(import.meta.dirname, sdk.program), join(folder, sdk.program))
  const env = {
    BASE_URL: stack.baseUrl,
    VENDOR_ID: ACME,
    EMAIL: 'owner@acme.example',
    PASSWORD: stack.demoPassword,
  }
  try {
    const { stdout } = await runIn(folder, [fileOf(sdk.generator), ...sdk.version])
    outcome.version = stdout.match(/\d+\.\d+\.\d+/)?.[0] ?? ''
    for (const command of sdk.generate(fileOf)) await runIn(folder, command)
    outcome.done.push('generate')
    for (const command of sdk.build(fileOf)) await runIn(folder, command)
    outcome.done.push('build')
    if (!sdk.run) return outcome
    outcome.done.push(...linesOf((await runIn(folder, sdk.run(fileOf), env)).stdout))
    const missed = STEPS.filter((step) => !outcome.done.includes(step))
    if (missed.length > 0) outcome.failure = `The program did not say that it did: ${missed.join(', ')}`
  } catch (error) {
    const { stdout = '', stderr = '', message } = error as Error & { stdout?: string; stderr?: string }
    if (outcome.done.includes('build')) outcome.done.push(...linesOf(stdout))
    outcome.failure = [message.split('\n', 1)[0], ...[stdout, stderr].map(shortened)].join('\n').trim()
  }
  return outcome
}

const linesOf = (text: string): string[] => text.split('\n').filter(Boolean)
const shortened = (text: string): string => text.trim().slice(-OUTPUT_SHOWN_CHARACTERS)

function rowOf({ sdk, version, missing, done, failure }: Outcome): string[] {
  if (missing.length > 0)
    return [sdk.name, '', 'not installed:', missing.map(({ names }) => names[0]).join(', ')]
  const failedAt = failure === undefined ? undefined : STEPS.find((step) => !done.includes(step))
  return [
    sdk.name,
    version,
    ...STEPS.map((step) => (done.includes(step) ? 'ok' : step === failedAt ? 'FAILED' : '-')),
  ]
}

function tableOf(outcomes: Outcome[]): string {
  const rows = [['generator', 'version', ...STEPS], ...outcomes.map(rowOf)]
  const widths = rows[0]?.map((_, column) =>
    Math.max(...rows.filter(({ length }) => length > 4).map((row) => row[column]?.length ?? 0)),
  )
  return rows
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths?.[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}

/** Prints what happened. @returns the exit code: 1 if a client failed or none was tried. */
function report(outcomes: Outcome[]): number {
  process.stdout.write(`${tableOf(outcomes)}\n`)
  const missing = new Set(outcomes.flatMap((outcome) => outcome.missing))
  for (const { names, setting } of missing)
    process.stdout.write(`${names.join(' or ')} is not on the PATH; ${setting} can name its file.\n`)
  for (const { sdk, failure } of outcomes)
    if (failure !== undefined) process.stdout.write(`\n${sdk.name}: ${failure}\n`)
  const tried = outcomes.filter((outcome) => outcome.missing.length === 0)
  if (tried.length === 0) process.stdout.write('\nNo client was generated.\n')
  return tried.length > 0 && tried.every(({ failure }) => failure === undefined) ? 0 : 1
}

/** `npm run sdks -- Java` tries only the clients with one of the words in their name. */
const words = process.argv.slice(2)
const wanted = SDKS.filter(({ name }) => words.length === 0 || words.some((word) => name.includes(word)))
const folder = await mkdtemp(join(tmpdir(), 'integration-access-sdks-'))
const stack = await startTestStack()
try {
  const outcomes: Outcome[] = []
  for (const [index, sdk] of wanted.entries()) {
    if (interrupted.signal.aborted) break
    process.stderr.write(`${sdk.name}\n`)
    outcomes.push(await trySdk(sdk, join(folder, String(index)), stack))
  }
  process.exitCode = interrupted.signal.aborted ? EXIT_INTERRUPTED : report(outcomes)
} finally {
  await stack.remove()
  await rm(folder, { recursive: true, force: true })
}
