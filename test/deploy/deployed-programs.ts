import { loadAll, YAML11_SCHEMA } from 'js-yaml'
import { COMPOSE, parseYaml, readInfra, type Yaml } from '../support/deployment.ts'
import { find, read } from '../support/project.ts'

/** What an operator answers where a deployment asks, as the runbook's examples do. */
const ANSWERS: Record<string, string> = {
  ISSUER: 'https://integration.example.com',
  API_RESOURCE: 'https://integration.example.com',
  TRUSTED_PROXIES: '10.0.0.0/8',
}

/** The documents of the base, and of the component for the Prometheus operator. */
export const MANIFESTS: Yaml[] = find('infra/deploy/kubernetes/*/**/*.yaml').flatMap((file) =>
  loadAll(read(file), { schema: YAML11_SCHEMA }),
)
export const CONTAINERS = readInfra('runbook/containers.md')
const INSTALL = readInfra('runbook/install.md')

export type ProgramName = 'auth' | 'api' | 'migrate' | 'admin'

/** A program of the product as a deployment starts it. */
export interface DeployedProgram {
  deployment: 'systemd' | 'kubernetes' | 'compose'
  name: ProgramName
  /** Its environment, once the operator has answered. */
  env: Record<string, string>
  /** The paths of its files of secrets, each with the name that the runbook or the deployment has for it. */
  secrets: Map<string, string>
}

const nameProgram = (image: string, command: string): ProgramName | undefined =>
  (/^integration-(auth|api)$/.exec(image)?.[1] as ProgramName | undefined) ??
  (image !== 'integration-operator' ? undefined : command.includes('admin/main.ts') ? 'admin' : 'migrate')

const readSettings = (text = ''): Record<string, string> =>
  Object.fromEntries(
    [...text.matchAll(/(\w+)=("[^"]*"|\S+)/g)].map(([, name, value = '']) => [
      name,
      value.replaceAll('"', ''),
    ]),
  )

/** What an image sets, which all have from `base`. */
export const IMAGE_ENV = readSettings(/^ENV (.+)$/m.exec(readInfra('deploy/Containerfile'))?.[1])

function readUnit(name: 'auth' | 'api'): DeployedProgram {
  const unit = readInfra(`deploy/systemd/integration-${name}.service`)
  const set = [...unit.matchAll(/^Environment="?(\w+)=([^"\n]*)"?$/gm)]
  const [, answered = ''] = /Both need ((?:`\w+`(?:, | and )?)+)/.exec(INSTALL) ?? []
  const answers = [...answered.matchAll(/`(\w+)`/g)].map(([, setting = '']) => [setting, ANSWERS[setting]])
  const credentials = [
    ...unit.matchAll(/^LoadCredential=([\w-]+):\/etc\/integration\/credentials\/([\w-]+)$/gm),
  ]
  return {
    deployment: 'systemd',
    name,
    env: Object.fromEntries([
      ...answers.filter(([, value]) => value !== undefined),
      ...set.map(([, variable, value]) => [variable, value]),
    ]),
    secrets: new Map(credentials.map(([, credential, file = '']) => [`%d/${credential}`, file])),
  }
}

export const podOf = (manifest: Yaml): Yaml => manifest.spec.template.spec

function readPod(manifest: Yaml): DeployedProgram {
  const { containers, volumes } = podOf(manifest)
  const [{ image, env, envFrom = [], volumeMounts }] = containers
  const overlay = parseYaml(/```yaml\n(apiVersion: kustomize[\s\S]*?)```/.exec(CONTAINERS)?.[1] ?? '')
  const maps: string[] = envFrom.map(({ configMapRef }: Yaml) => configMapRef.name)
  const literals: string[] = [...MANIFESTS, overlay]
    .flatMap(({ configMapGenerator = [] }) => configMapGenerator)
    .flatMap(({ name, literals }: Yaml) => (maps.includes(name) ? literals : []))
  const secretName = volumes[0].secret.secretName
  const [, listed = ''] = new RegExp(`\`${secretName}\` \\(([^)]*)\\)`).exec(CONTAINERS) ?? []
  const keys = [...listed.matchAll(/`([\w-]+)`/g)].map(([, key = '']) => key)
  return {
    deployment: 'kubernetes',
    name: nameProgram(image, '') ?? 'migrate',
    env: {
      ...IMAGE_ENV,
      ...Object.fromEntries(literals.map((literal) => literal.split(/=(.*)/s))),
      ...Object.fromEntries(env.map(({ name, value }: Yaml) => [name, value])),
    },
    secrets: new Map(keys.map((key) => [`${volumeMounts[0].mountPath}/${key}`, key])),
  }
}

/** What the runbook writes to `.env`, which compose.yaml asks for. */
const DOTENV = readSettings(/printf '%s\\n' (.+) > \.env/.exec(CONTAINERS)?.[1])

function readService({ image, environment, entrypoint = [], secrets = [] }: Yaml): DeployedProgram[] {
  const name = nameProgram(image, entrypoint.join(' '))
  if (!name) return []
  const env = { ...IMAGE_ENV }
  for (const [key, value] of Object.entries(environment))
    env[key] = String(value).replaceAll(/\$\{(\w+)[^}]*\}/g, (_, asked) => DOTENV[asked] ?? '')
  const files = secrets.map((secret: string) => [`/run/secrets/${secret}`, secret])
  return [{ deployment: 'compose', name, env, secrets: new Map(files) }]
}

export const DEPLOYED: readonly DeployedProgram[] = [
  ...(['auth', 'api'] as const).map(readUnit),
  ...MANIFESTS.filter(({ kind }) => kind === 'Deployment' || kind === 'Job').map(readPod),
  ...Object.values(COMPOSE.services).flatMap(readService),
]
