import { join } from 'node:path'

export interface Sdk {
  name: string
  /** A file of this folder that is copied beside what is generated, such as a program that uses it. */
  program?: string
  /** The document to generate from: with the workspace, or for integrations alone. */
  document: OpenapiDocument
  /** Commands that are run in a folder with the document. */
  generate: string[][]
  build: string[][]
  /** Left out if the client is only compiled, or loaded. */
  run?: string[]
}

export type OpenapiDocument = 'openapi.json' | 'integrations.json'

const DOCUMENTS = ['openapi.json', 'integrations.json'] as const

/** As a person would install it: in a virtual environment, with the dependencies that the package names. */
const python = (program: string) => ({
  program,
  build: [
    ['python3', '-m', 'venv', 'venv'],
    ['venv/bin/pip', 'install', '--quiet', '--disable-pip-version-check', './generated'],
  ],
  run: ['venv/bin/python', program],
})

/** The client is a package of the program's module. */
const go = (program: string) => ({
  program,
  build: [
    ['go', 'mod', 'init', 'integration.example'],
    ['go', 'mod', 'tidy'],
    ['go', 'build', '-o', 'integration', '.'],
  ],
  run: ['./integration'],
})

/** A client of openapi-generator that is compiled, or loaded where nothing is compiled. */
function compiled({
  language,
  generator,
  documents = DOCUMENTS,
  ...rest
}: Pick<Sdk, 'build' | 'program'> & {
  language: string
  generator: string
  documents?: readonly OpenapiDocument[]
}): Sdk[] {
  return documents.map((document) => ({
    name: `openapi-generator, ${language}, ${document}`,
    document,
    generate: [
      ['openapi-generator-cli', 'generate', ...['-i', document, '-g', generator, '-o', 'generated']],
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
    generate: [
      [
        'openapi-python-client',
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
    generate: [
      ['openapi-generator-cli', 'generate', ...['-i', 'openapi.json', '-g', 'python', '-o', 'generated']],
    ],
    ...python('openapi_generator.py'),
  },
  {
    name: 'openapi-generator, Java',
    document: 'openapi.json',
    program: 'OpenapiGenerator.java',
    generate: [
      [
        'openapi-generator-cli',
        'generate',
        ...['-i', 'openapi.json', '-g', 'java', '--library', 'native', '-o', 'generated'],
      ],
    ],
    build: [['mvn', ...['--batch-mode', '--quiet', '--file', 'generated/pom.xml', ...PACKAGE_ALONE]]],
    run: ['java', '-cp', 'generated/target/*:generated/target/lib/*', 'OpenapiGenerator.java'],
  },
  {
    name: 'openapi-generator, Go',
    document: 'openapi.json',
    generate: [
      [
        'openapi-generator-cli',
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
    generate: [
      [
        'oapi-codegen',
        ...['-generate', 'types,client', '-package', 'client', '-o', 'client/client.go', 'openapi.json'],
      ],
    ],
    ...go('oapi_codegen.go'),
  },
  ...compiled({
    language: 'Java with okhttp',
    generator: 'java',
    build: [['mvn', '--batch-mode', '--quiet', '--file', 'generated/pom.xml', ...PACKAGE_ALONE]],
  }),
  ...compiled({
    language: 'Kotlin',
    generator: 'kotlin',
    // The generated client is built by Gradle; this builds it by Maven.
    program: 'kotlin.xml',
    build: [['mvn', '--batch-mode', '--quiet', '--file', 'kotlin.xml', 'compile']],
  }),
  ...compiled({
    language: 'TypeScript with fetch',
    generator: 'typescript-fetch',
    build: [['tsc', ...TYPESCRIPT, ...MODULES, 'generated/index.ts']],
  }),
  ...compiled({
    language: 'Ruby',
    generator: 'ruby',
    // The generator has no code for an API key in a cookie, which the workspace has.
    documents: ['integrations.json'],
    build: [['ruby', '-I', 'generated/lib', '-e', RUBY_PROGRAM]],
  }),
  ...compiled({
    language: 'Rust',
    generator: 'rust',
    documents: ['integrations.json'],
    build: [['cargo', 'check', '--quiet', '--manifest-path', 'generated/Cargo.toml']],
  }),
  ...compiled({
    language: 'C#',
    generator: 'csharp',
    build: [['dotnet', 'build', 'generated']],
  }),
]
