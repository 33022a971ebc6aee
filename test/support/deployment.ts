import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { load, YAML11_SCHEMA } from 'js-yaml'

const INFRA = join(import.meta.dirname, '../../infra')

export const readInfra = (file: string): string => readFileSync(join(INFRA, file), 'utf8')

// biome-ignore lint/suspicious/noExplicitAny: manifests have any shape, and tests look into them.
export type Yaml = any

export const parseYaml = (text: string): Yaml => load(text, { schema: YAML11_SCHEMA })

export const COMPOSE: Yaml = parseYaml(readInfra('deploy/compose.yaml'))
