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
  /** A file of this folder that is copied beside what is generated, such as a program that uses it. */
  program?: string
  /** The document to generate from: with the workspace, or for integrations alone. */
  document: OpenapiDocument
  /** Commands that are run in a folder with the document. */
  generate(tool: ToolFile): string[][]
  build(tool: ToolFile): string[][]
  /** Left out if the client is only compiled, or loaded. */
  run?(tool: ToolFile): string[]
}

export type OpenapiDocument = 'openapi.json' | 'integrations.json'

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
const RUBY = { names: ['ruby'], setting: 'RUBY' }
const CARGO = { names: ['cargo'], setting: 'CARGO' }
const DOTNET = { names: ['dotnet'], setting: 'DOTNET' }
const TSC = { names: ['tsc'], setting: 'TSC' }
const DOCUMENTS = ['openapi.json', 'integrations.json'] as const

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

/** A client of openapi-generator that is compiled, or loaded where nothing is compiled. */
function compiled({
  language,
  generator,
  documents = DOCUMENTS,
  ...rest
}: Pick<Sdk, 'others' | 'build' | 'program'> & {
  language: string
  generator: string
  documents?: readonly OpenapiDocument[]
}): Sdk[] {
  return documents.map((document) => ({
    name: `openapi-generator, ${language}, ${document}`,
    generator: OPENAPI_GENERATOR,
    version: ['version'],
    document,
    generate: (tool) => [
      [tool(OPENAPI_GENERATOR), 'generate', ...['-i', document, '-g', generator, '-o', 'generated']],
    ],
    ...rest,
  }))
}

const TYPESCRIPT = ['--noEmit', '--strict', '--target', 'es2022', '--lib', 'es2022,dom']
const MODULES = ['--module', 'esnext', '--moduleResolution', 'bundler']
/** Loads everything, and has each way of authentication write its header. Needs the gem typhoeus. */
const RUBY_PROGRAM =
  'require "openapi_client"; OpenapiClient::Configuration.default.auth_settings; OpenapiClient::AnalyticsApi.new'
const PACKAGE_ALONE = ['-Dmaven.test.skip', '-Dmaven.javadoc.skip', '-Dmaven.source.skip', 'package']

/** The clients to generate, those first that a program uses unmodified. */
export const SDKS: readonly Sdk[] = [
  {
    name: 'openapi-python-client',
    document: 'openapi.json',
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
    document: 'openapi.json',
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
    document: 'openapi.json',
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
      [tool(MAVEN), ...['--batch-mode', '--quiet', '--file', 'generated/pom.xml', ...PACKAGE_ALONE]],
    ],
    run: (tool) => [tool(JAVA), '-cp', 'generated/target/*:generated/target/lib/*', 'OpenapiGenerator.java'],
  },
  {
    name: 'openapi-generator, Go',
    document: 'openapi.json',
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
    document: 'openapi.json',
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
  ...compiled({
    language: 'Java with okhttp',
    generator: 'java',
    others: [JAVA, MAVEN],
    build: (tool) => [
      [tool(MAVEN), '--batch-mode', '--quiet', '--file', 'generated/pom.xml', ...PACKAGE_ALONE],
    ],
  }),
  ...compiled({
    language: 'Kotlin',
    generator: 'kotlin',
    others: [JAVA, MAVEN],
    // The generated client is built by Gradle; this builds it by Maven.
    program: 'kotlin.xml',
    build: (tool) => [[tool(MAVEN), '--batch-mode', '--quiet', '--file', 'kotlin.xml', 'compile']],
  }),
  ...compiled({
    language: 'TypeScript with fetch',
    generator: 'typescript-fetch',
    others: [JAVA, TSC],
    build: (tool) => [[tool(TSC), ...TYPESCRIPT, ...MODULES, 'generated/index.ts']],
  }),
  ...compiled({
    language: 'Ruby',
    generator: 'ruby',
    // The generator has no code for an API key in a cookie, which the workspace has.
    documents: ['integrations.json'],
    others: [JAVA, RUBY],
    build: (tool) => [[tool(RUBY), '-I', 'generated/lib', '-e', RUBY_PROGRAM]],
  }),
  ...compiled({
    language: 'Rust',
    generator: 'rust',
    documents: ['integrations.json'],
    others: [JAVA, CARGO],
    build: (tool) => [[tool(CARGO), 'check', '--quiet', '--manifest-path', 'generated/Cargo.toml']],
  }),
  ...compiled({
    language: 'C#',
    generator: 'csharp',
    others: [JAVA, DOTNET],
    build: (tool) => [[tool(DOTNET), 'build', 'generated']],
  }),
]

/** @returns the file of the tool, or undefined if it is not installed. */
export async function findTool({ names, setting }: Tool): Promise<string | undefined> {
  const named = process.env[setting]
  return named ? resolve(named) : onPath(...names)
}
