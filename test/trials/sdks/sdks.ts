export interface Sdk {
  /** The language, as a person names it. */
  name: string
  /** As openapi-generator names it. */
  generator: string
  /** Where the documents are published that it is generated from: with the workspace, and for integrations alone. */
  documents: readonly string[]
  /** A file of this folder that is copied beside what is generated. */
  file?: string
  /** Commands that are run in the folder in which `generated` is. */
  build: string[][]
  /** Uses the client. Left out if it is only compiled, or loaded. */
  run?: string[]
}

const WHOLE = '/openapi.json'
const INTEGRATIONS = '/openapi/integrations.json'
const TYPESCRIPT = ['--noEmit', '--strict', '--target', 'es2022', '--lib', 'es2022,dom']
const MODULES = ['--module', 'esnext', '--moduleResolution', 'bundler']
/** Loads everything, and has each way of authentication write its header. Needs the gem typhoeus. */
const RUBY_PROGRAM =
  'require "openapi_client"; OpenapiClient::Configuration.default.auth_settings; OpenapiClient::AnalyticsApi.new'
const PACKAGE_ALONE = ['-Dmaven.test.skip', '-Dmaven.javadoc.skip', '-Dmaven.source.skip', 'package']

export const SDKS: readonly Sdk[] = [
  {
    name: 'Python',
    generator: 'python',
    documents: [WHOLE],
    file: 'openapi_generator.py',
    // As a person would install it: in a virtual environment, with the dependencies that the package names.
    build: [
      ['python3', '-m', 'venv', 'venv'],
      ['venv/bin/pip', 'install', '--quiet', '--disable-pip-version-check', './generated'],
    ],
    run: ['venv/bin/python', 'openapi_generator.py'],
  },
  {
    name: 'Java',
    generator: 'java',
    documents: [WHOLE, INTEGRATIONS],
    build: [['mvn', '--batch-mode', '--quiet', '--file', 'generated/pom.xml', ...PACKAGE_ALONE]],
  },
  {
    name: 'Kotlin',
    generator: 'kotlin',
    documents: [WHOLE, INTEGRATIONS],
    // The generated client is built by Gradle; this builds it by Maven.
    file: 'kotlin.xml',
    build: [['mvn', '--batch-mode', '--quiet', '--file', 'kotlin.xml', 'compile']],
  },
  {
    name: 'TypeScript',
    generator: 'typescript-fetch',
    documents: [WHOLE, INTEGRATIONS],
    build: [['tsc', ...TYPESCRIPT, ...MODULES, 'generated/index.ts']],
  },
  {
    name: 'Ruby',
    generator: 'ruby',
    // The generator has no code for an API key in a cookie, which the workspace has.
    documents: [INTEGRATIONS],
    build: [['ruby', '-I', 'generated/lib', '-e', RUBY_PROGRAM]],
  },
  {
    name: 'Rust',
    generator: 'rust',
    documents: [INTEGRATIONS],
    build: [['cargo', 'check', '--quiet', '--manifest-path', 'generated/Cargo.toml']],
  },
  {
    name: 'C#',
    generator: 'csharp',
    documents: [WHOLE, INTEGRATIONS],
    build: [['dotnet', 'build', 'generated']],
  },
]
