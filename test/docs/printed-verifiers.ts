import { type ChildProcessWithoutNullStreams, spawn, spawnSync } from 'node:child_process'
import { mkdir, mkdtempDisposable, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { collectText } from '../support/collect-text.ts'
import { run } from '../support/program.ts'
import { ROOT, read } from '../support/project.ts'

const INSTALL_DEADLINE_MS = 280_000

/** `verify` checks a token, `revocations` keeps a copy of the revocations page. */
const PROGRAMS = ['verify', 'revocations'] as const
export type ProgramName = (typeof PROGRAMS)[number]

interface Program {
  /** The page's caption. */
  file: string
  /** What runs when the program starts, from here to its end. */
  main: RegExp
  /** In its place: answers each line with `ok` or `refused: …`. An empty line polls. */
  loop: string
}

/** A language that has a page of examples, such as /docs/verify-node. */
export interface Language {
  name: string
  programs: Record<ProgramName, Program>
  /**
   * The five minutes for which keys are cached, as this language prints them, and the same as one second; and
   * a first clock that has stopped, as while the machine is suspended.
   */
  keyLife: Record<string, string>
  tools: string[][]
  install: string[][]
  run(folder: string, program: ProgramName): string[]
}

const NODE_LOOP = `
import { createInterface } from 'node:readline'
for await (const line of createInterface({ input: process.stdin }))
  await %.then(() => console.log('ok'), (error) => console.log('refused:', error.message))
`
export const NODE: Language = {
  name: 'Node',
  programs: {
    verify: {
      file: 'js verify.mjs',
      main: /\nconsole\.log\([\s\S]*$/,
      loop: NODE_LOOP.replace('%', "verify(line, 'analytics:read')"),
    },
    revocations: {
      file: 'js revocations.mjs',
      main: /\nawait poll\(\)\n[\s\S]*$/,
      loop: `${NODE_LOOP.replace('%', "answer(...line.split(' '))")}
async function answer(kid, client_id, jti) {
  return jti ? requireLive({ kid }, { client_id, jti }) : poll()
}
`,
    },
  },
  keyLife: { '300_000': '1_000', 'performance.now()': '0' },
  tools: [],
  install: [['ln', '-s', join(ROOT, 'node_modules'), 'node_modules']],
  run: (folder, program) => [process.execPath, `${folder}/${program}.mjs`],
}

const PYTHON_LOOP = `
import sys
for line in sys.stdin:
    try:
        %
        print("ok", flush=True)
    except Exception as error:
        print("refused:", str(error).replace("\\n", " "), flush=True)
`
export const PYTHON: Language = {
  name: 'Python',
  programs: {
    verify: {
      file: 'py verify.py',
      main: /\nprint\(verify\([\s\S]*$/,
      loop: PYTHON_LOOP.replace('%', 'verify(line.strip(), "analytics:read")'),
    },
    revocations: {
      file: 'py revocations.py',
      main: /\npoll\(\)\n[\s\S]*$/,
      loop: PYTHON_LOOP.replace(
        '%',
        'ids = line.split(); require_live(ids[0], {"client_id": ids[1], "jti": ids[2]}) if ids else poll()',
      ),
    },
  },
  keyLife: { 'lifespan=300': 'lifespan=1', 'time.monotonic()': '0' },
  tools: [['python3', '-c', 'import ensurepip, venv']],
  install: [
    ['python3', '-m', 'venv', 'venv'],
    ['venv/bin/pip', 'install', '--quiet', '--disable-pip-version-check', 'pyjwt[crypto]==2.15.1'],
  ],
  run: (folder, program) => ['venv/bin/python', `${folder}/${program}.py`],
}

export const isInstalled = ({ tools }: Language): boolean =>
  tools.every(([tool = '', ...args]) => spawnSync(tool, args).status === 0)

export type Verifier = ReturnType<typeof startVerifier>

const KEY_LIVES = ['printed', 'second'] as const
type KeyLife = (typeof KEY_LIVES)[number]

/** Installs a language's libraries and writes its examples as printed, but for the issuer's addresses. */
export async function buildVerifiers(language: Language, addresses: Record<string, string>) {
  const { path: folder, remove } = await mkdtempDisposable(join(tmpdir(), 'integration-access-verifiers-'))
  const execute = ([command = '', ...args]: string[]) =>
    run(command, args, { cwd: folder, timeout: INSTALL_DEADLINE_MS })
  for (const command of language.install) await execute(command)
  const page = read(`apps/api/discovery/docs/pages/verify-${language.name.toLowerCase()}.md`)
  for (const keyLife of KEY_LIVES) {
    await mkdir(join(folder, keyLife))
    for (const program of PROGRAMS) {
      const { file } = language.programs[program]
      const printed = filled(printedIn(page, language.programs[program]), addresses)
      const text = keyLife === 'printed' ? printed : filled(printed, language.keyLife)
      await writeFile(join(folder, keyLife, file.split(' ')[1] ?? file), text)
    }
  }
  const running = new Set<Verifier>()
  return {
    /** `second`: with the values of the language's `keyLife`. */
    start(program: ProgramName, keyLife: KeyLife = 'printed') {
      const [command = '', ...args] = language.run(keyLife, program)
      const verifier = startVerifier(spawn(command, args, { cwd: folder }))
      running.add(verifier)
      return verifier
    },
    async [Symbol.asyncDispose]() {
      for (const verifier of running) verifier.stop()
      await remove()
    },
  }
}

/** The example as the page prints it, but for what runs when it starts. */
function printedIn(page: string, { file, main, loop }: Program): string {
  const [, printed = ''] = new RegExp(`\`\`\`${file}\\n([\\s\\S]*?)\`\`\``).exec(page) ?? []
  const text = printed.replace(main, () => loop)
  if (text === printed) throw new Error(`${file}: its start is not found`)
  return text
}

const filled = (text: string, values: Record<string, string>): string =>
  Object.entries(values).reduce((result, [before, after]) => result.replaceAll(before, after), text)

function startVerifier(child: ChildProcessWithoutNullStreams) {
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const errors = collectText(child.stderr)
  return {
    /** Sends a line. Returns `ok`, or `refused: ` and why. */
    async answer(line: string): Promise<string> {
      child.stdin.write(`${line}\n`)
      const { value, done } = await lines.next()
      if (done) throw new Error(`${child.spawnargs.join(' ')} ended: ${errors()}`)
      return value
    },
    stop: () => void child.kill(),
  }
}
