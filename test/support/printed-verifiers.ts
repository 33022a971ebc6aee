import { type ChildProcessWithoutNullStreams, spawn, spawnSync } from 'node:child_process'
import { mkdir, mkdtempDisposable, readFile, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { collectText } from './collect-text.ts'
import { QUICK_START } from './languages.ts'
import { run } from './program.ts'

const PAGES = join(import.meta.dirname, '../../apps/api/discovery/docs/pages')
const INSTALL_DEADLINE_MS = 280_000
const ENV = { ...process.env, ...QUICK_START }

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
  /** The five minutes for which keys are cached, as this language prints them, and the same as one second. */
  keyLife: Record<string, string>
  /** Commands that succeed if the tools are installed. */
  tools: string[][]
  /** Commands that install the libraries in a folder. */
  install: string[][]
  files?: Record<string, string>
  /** Commands for a program in a folder. */
  build?(folder: string, program: ProgramName): string[]
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
  keyLife: { '300_000': '1_000' },
  tools: [],
  install: [['ln', '-s', join(import.meta.dirname, '../../node_modules'), 'node_modules']],
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
  keyLife: { 'lifespan=300': 'lifespan=1' },
  tools: [['python3', '-c', 'import ensurepip, venv']],
  install: [
    ['python3', '-m', 'venv', 'venv'],
    ['venv/bin/pip', 'install', '--quiet', '--disable-pip-version-check', 'pyjwt[crypto]==2.15.1'],
  ],
  run: (folder, program) => ['venv/bin/python', `${folder}/${program}.py`],
}

const GO_LOOP = `
func main() {
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		if err := answer(lines.Text()); err != nil {
			fmt.Println("refused:", strings.ReplaceAll(err.Error(), "\\n", " "))
		} else {
			fmt.Println("ok")
		}
	}
}
`
const GO_MAIN = /\nfunc main\(\) \{[\s\S]*$/
export const GO: Language = {
  name: 'Go',
  programs: {
    verify: {
      file: 'go verify.go',
      main: GO_MAIN,
      loop: `${GO_LOOP}
func answer(line string) error {
	_, err := verify(line, "analytics:read")
	return err
}
`,
    },
    revocations: {
      file: 'go revocations.go',
      main: GO_MAIN,
      loop: `${GO_LOOP}
func answer(line string) error {
	ids := strings.Fields(line)
	if len(ids) == 0 {
		return poll()
	}
	return requireLive(ids[0], ids[1], ids[2])
}
`,
    },
  },
  keyLife: { '5 * time.Minute': 'time.Second' },
  tools: [['go', 'version']],
  install: [
    ['go', 'mod', 'init', 'example.com/verifier'],
    ['go', 'get', 'github.com/golang-jwt/jwt/v5@v5.3.1', 'github.com/MicahParks/keyfunc/v3@v3.9.1'],
  ],
  build: (folder, program) => ['go', 'build', '-o', `${folder}/${program}`, `${folder}/${program}.go`],
  run: (folder, program) => [`${folder}/${program}`],
}

const JAVA_LOOP = (answer: string) => `
    public static void main(String[] args) throws Exception {
        var lines = new java.io.BufferedReader(new java.io.InputStreamReader(System.in));
        for (String line; (line = lines.readLine()) != null; ) {
            try {
                ${answer}
                System.out.println("ok");
            } catch (Exception error) {
                System.out.println("refused: " + String.valueOf(error).replace('\\n', ' '));
            }
        }
    }
}
`
const JAVA_MAIN = /\n {4}public static void main[\s\S]*$/
const LIBRARIES = [
  ['org.springframework.security', 'spring-security-oauth2-jose', '6.5.1'],
  ['org.springframework.security', 'spring-security-oauth2-resource-server', '6.5.1'],
  ['org.springframework', 'spring-web', '6.2.8'],
]
export const JAVA: Language = {
  name: 'Java',
  programs: {
    verify: {
      file: 'java Verify.java',
      main: JAVA_MAIN,
      loop: `
    static final JwtDecoder decoder = decoder();
${JAVA_LOOP('decoder.decode(line);')}`,
    },
    revocations: {
      file: 'java Revocations.java',
      main: JAVA_MAIN,
      loop: JAVA_LOOP(`var ids = line.split(" ");
                if (ids.length == 3) requireLive(ids[0], ids[1], ids[2]);
                else poll();`),
    },
  },
  // The library wants the time between fetches to be less than the life.
  keyLife: { '300_000, 6_000': '1_000, 900', '20_000': '500' },
  files: {
    'pom.xml': `<project xmlns="http://maven.apache.org/POM/4.0.0">
<modelVersion>4.0.0</modelVersion><groupId>example</groupId><artifactId>verifier</artifactId><version>1</version>
<dependencies>${LIBRARIES.map(
      ([group, name, version]) =>
        `<dependency><groupId>${group}</groupId><artifactId>${name}</artifactId><version>${version}</version></dependency>`,
    ).join('')}</dependencies></project>`,
  },
  tools: [
    ['javac', '-version'],
    ['mvn', '--version'],
  ],
  install: [['mvn', '--batch-mode', '--quiet', 'dependency:copy-dependencies', '-DoutputDirectory=lib']],
  build: (folder, program) => [
    ...['javac', '-nowarn', '-d', folder, '-cp', `lib/*:${folder}`],
    `${folder}/${chooseClassName(program)}.java`,
  ],
  run: (folder, program) => ['java', '-cp', `lib/*:${folder}`, chooseClassName(program)],
}
const chooseClassName = (program: ProgramName) => (program === 'verify' ? 'Verify' : 'Revocations')

export const isInstalled = ({ tools }: Language): boolean =>
  tools.every(([tool = '', ...args]) => spawnSync(tool, args).status === 0)

/** A running example. */
export type Verifier = ReturnType<typeof startVerifier>

const KEY_LIVES = ['printed', 'second'] as const
type KeyLife = (typeof KEY_LIVES)[number]

/**
 * Installs the libraries of a language and builds its printed examples, with all but their start as they are
 * printed, and the addresses of a test's issuer filled in.
 */
export async function buildVerifiers(language: Language, addresses: Record<string, string>) {
  const { path: folder, remove } = await mkdtempDisposable(join(tmpdir(), 'integration-access-verifiers-'))
  const execute = ([command = '', ...args]: string[]) =>
    run(command, args, { cwd: folder, env: ENV, timeout: INSTALL_DEADLINE_MS })
  for (const [file, text] of Object.entries(language.files ?? {})) await writeFile(join(folder, file), text)
  for (const command of language.install) await execute(command)
  const page = await readFile(`${PAGES}/verify-${language.name.toLowerCase()}.md`, 'utf8')
  for (const keyLife of KEY_LIVES) {
    await mkdir(join(folder, keyLife))
    for (const program of PROGRAMS) {
      const { file } = language.programs[program]
      const printed = filled(printedIn(page, language.programs[program]), addresses)
      const text = keyLife === 'printed' ? printed : filled(printed, language.keyLife)
      await writeFile(join(folder, keyLife, file.split(' ')[1] ?? file), text)
      if (language.build) await execute(language.build(keyLife, program))
    }
  }
  const running = new Set<Verifier>()
  return {
    /** `second`: the program keeps its keys for one second in place of five minutes. */
    start(program: ProgramName, keyLife: KeyLife = 'printed') {
      const [command = '', ...args] = language.run(keyLife, program)
      const verifier = startVerifier(spawn(command, args, { cwd: folder, env: ENV }))
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
  return loop.includes('bufio') ? text.replace('import (', 'import (\n\t"bufio"') : text
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
