import { load, YAML11_SCHEMA } from 'js-yaml'
import { read } from './project.ts'

export const readInfra = (file: string): string => read(`infra/${file}`)

// biome-ignore lint/suspicious/noExplicitAny: manifests have any shape, and tests look into them.
export type Yaml = any

export const parseYaml = (text: string): Yaml => load(text, { schema: YAML11_SCHEMA })

export const COMPOSE: Yaml = parseYaml(readInfra('deploy/compose.yaml'))
