import { join, resolve } from 'node:path'
import { onPath } from '../../../infra/local/child.ts'

/** A program that has to be installed. */
export interface Tool {
  names: string[]
  /** The environment variable that can name its file instead. */
  setting: string
}

export interface Sdk {
  name: string
  generator: Tool
  /** The arguments with which the generator prints its version. */
  version: string[]
  /** What builds and runs the generated client. */
  others: Tool[]
  /** A file of this folder, which is copied beside the generated client and uses it. */
  program: string
  /** Commands that are run in a folder with openapi.json. */
  generate(tool: ToolFile): string[][]
  build(tool: ToolFile): string[][]
  run(tool: ToolFile): string[]
}

export type ToolFile = (tool: Tool) => string

const OPENAPI_PYTHON_CLIENT = { names: ['openapi-python-client'], setting: 'OPENAPI_PYTHON_CLIENT' }
const OPENAPI_GENERATOR = {
  names: ['openapi-generator-cli', 'openapi-generator'],
  setting: 'OPENAPI_GENERATOR',
}
const OAPI_CODEGEN = { names: ['oapi-codegen'], setting: 'OAPI_CODEGEN' }
const PYTHON = { names: ['python3'], setting: 'PYTHON' }
const JAVA = { names: ['java'], setting: 'JAVA' }
const MAVEN = { names: ['mvn'], setting: 'MAVEN' }
const GO = { names: ['go'], setting: 'GO' }

/** As a person would install it: in a virtual environment, with the dependencies that the package names. */
const python = (program: string) => ({
  program,
  build: (tool: ToolFile) => [
    [tool(PYTHON), '-m', 'venv', 'venv'],
    ['venv/bin/pip', 'install', '--quiet', '--disable-pip-version-check', './generated'],
  ],
  run: () => ['venv/bin/python', program],
})

/** The client is a package of the program's module. */
const go = (program: string) => ({
  program,
  build: (tool: ToolFile) => [
    [tool(GO), 'mod', 'init', 'integration.example'],
    [tool(GO), 'mod', 'tidy'],
    [tool(GO), 'build', '-o', 'integration', '.'],
  ],
  run: () => ['./integration'],
})

/** The clients to generate, each with a program that uses it unmodified. */
export const SDKS: readonly Sdk[] = [
  {
    name: 'openapi-python-client',
    generator: OPENAPI_PYTHON_CLIENT,
    version: ['--version'],
    others: [PYTHON],
    generate: (tool) => [
      [
        tool(OPENAPI_PYTHON_CLIENT),
        'generate',
        ...['--path', 'openapi.json', '--output-path', 'generated', '--fail-on-warning'],
        ...['--config', join(import.meta.dirname, 'openapi_python_client.yaml')],
      ],
    ],
    ...python('openapi_python_client.py'),
  },
  {
    name: 'openapi-generator, Python',
    generator: OPENAPI_GENERATOR,
    version: ['version'],
    others: [PYTHON, JAVA],
    generate: (tool) => [
      [tool(OPENAPI_GENERATOR), 'generate', ...['-i', 'openapi.json', '-g', 'python', '-o', 'generated']],
    ],
    ...python('openapi_generator.py'),
  },
  {
    name: 'openapi-generator, Java',
    generator: OPENAPI_GENERATOR,
    version: ['version'],
    others: [JAVA, MAVEN],
    program: 'OpenapiGenerator.java',
    generate: (tool) => [
      [
        tool(OPENAPI_GENERATOR),
        'generate',
        ...['-i', 'openapi.json', '-g', 'java', '--library', 'native', '-o', 'generated'],
      ],
    ],
    build: (tool) => [
      [
        tool(MAVEN),
        ...['--batch-mode', '--quiet', '--file', 'generated/pom.xml'],
        ...['-Dmaven.test.skip', '-Dmaven.javadoc.skip', '-Dmaven.source.skip', 'package'],
      ],
    ],
    run: (tool) => [tool(JAVA), '-cp', 'generated/target/*:generated/target/lib/*', 'OpenapiGenerator.java'],
  },
  {
    name: 'openapi-generator, Go',
    generator: OPENAPI_GENERATOR,
    version: ['version'],
    others: [JAVA, GO],
    generate: (tool) => [
      [
        tool(OPENAPI_GENERATOR),
        'generate',
        ...['-i', 'openapi.json', '-g', 'go', '-o', 'client'],
        ...['--additional-properties', 'packageName=client,withGoMod=false'],
        ...['--global-property', 'apiTests=false,modelTests=false'],
      ],
    ],
    ...go('openapi_generator.go'),
  },
  {
    name: 'oapi-codegen, Go',
    generator: OAPI_CODEGEN,
    version: ['-version'],
    others: [GO],
    generate: (tool) => [
      [
        tool(OAPI_CODEGEN),
        ...['-generate', 'types,client', '-package', 'client', '-o', 'client/client.go', 'openapi.json'],
      ],
    ],
    ...go('oapi_codegen.go'),
  },
]

/** @returns the file of the tool, or undefined if it is not installed. */
export async function findTool({ names, setting }: Tool): Promise<string | undefined> {
  const named = process.env[setting]
  return named ? resolve(named) : onPath(...names)
}
