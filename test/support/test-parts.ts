import { statSync } from 'node:fs'
import { basename, join, relative } from 'node:path'

const ROOT = join(import.meta.dirname, '../..')
const SCREEN_PARTS = 2

/** Each takes seconds of a core, mostly to start processes. They start first, the longest in front. */
const SLOW = [
  'process/largest-company',
  'deploy/release',
  'admin/company-erase',
  'docs/verify-examples',
  'auth/processes',
  'admin/revoke',
  'revocation/model',
  'auth/signing-keys',
  'process/',
  'local/',
  'hostile-input/',
  'shared/log',
]

/** Few changes touch what they are about, and together they take as long as half of all that `fast` runs. */
const SELDOM = [
  ...['admin/analytics-import', 'admin/audit-compare', 'admin/help', 'admin/person-erase', 'admin/restore'],
  ...['api/fuzz', 'api/invited-address', 'api/mail', 'api/openid', 'api/password-reset'],
  ...['api/session-limits', 'api/sign-in-browser', 'api/workload'],
  ...['auth/fuzz', 'auth/oidc-provider', 'auth/workload', 'shared/redis'],
]

/** Small, but each waits for more than ten seconds. One starts before each of the first other files. */
const WAITING = ['api/unavailable-locks', 'admin/keys', 'auth/hostile-http', 'auth/request-log']

/** The seconds of the longest files with screens. The others take about ten each. */
const SCREENS_S: Record<string, number> = {
  ...{ 'words-clients': 80, 'words-company': 60, accessibility: 40 },
  ...{ roles: 25, 'sign-in': 25, requests: 20, docs: 20 },
}

/** They share a stack. A worker of the stores' part would end it with the first of them. */
const WITH_STACK = ['browser/', 'local/cors', 'shared/package.all', 'workspace/snippets.all']

/** `fast` has neither screens, SLOW nor SELDOM, `usual` all but the files named `*.all.test.ts`. */
export type Tier = 'fast' | 'usual' | 'all'

/**
 * Returns the files with these paths, or below them, and all of the tier if none is named. A folder stands
 * for its files of the tier.
 * @throws Error naming the paths that stand for no file.
 */
export function selectFiles(files: readonly string[], paths: readonly string[], tier: Tier): string[] {
  const names = paths.map((path) => relative(ROOT, path))
  const isLeftOut = (file: string) =>
    ['browser/', ...SLOW, ...SELDOM].some((place) => file.startsWith(`test/${place}`))
  const isOfTier = (file: string) =>
    tier === 'all' || !(file.endsWith('.all.test.ts') || (tier === 'fast' && isLeftOut(file)))
  const selects = (name: string, file: string) =>
    file === name || (isOfTier(file) && file.startsWith(`${name}/`))
  const unknown = names.filter((name) => !files.some((file) => selects(name, file)))
  if (unknown.length > 0) throw new Error(`no test file: ${unknown.join(', ')}`)
  return files.filter((file) =>
    names.length > 0 ? names.some((name) => selects(name, file)) : isOfTier(file),
  )
}

/**
 * Returns each file in the part that runs it, in the order in which they start. A file of `stores` starts
 * what it needs besides Postgres. Each list of `screens` has a stack of its own, and a browser if it has
 * screens.
 */
export function testParts(files: readonly string[]) {
  const below = (place: string) => files.filter((file) => file.startsWith(`test/${place}`))
  const onStack = WITH_STACK.flatMap(below)
  const stores = files.filter((file) => !onStack.includes(file))
  const [slow, waiting] = [SLOW.flatMap(below), WAITING.flatMap(below)]
  const mixed = bySize(stores).flatMap((file, i) => [...waiting.slice(i, i + 1), file])
  const screenParts = below('browser/').length > 0 ? SCREEN_PARTS : 1
  const inOrder = [...slow, ...mixed].filter((file) => stores.includes(file))
  return { stores: [...new Set(inOrder)], screens: evenly(onStack, screenParts) }
}

const readSize = (file: string) => statSync(join(ROOT, file)).size
/** The largest first: what a file takes grows with its size. */
const bySize = (files: readonly string[]) => files.toSorted((a, b) => readSize(b) - readSize(a))

const screen_s = (file: string): number => SCREENS_S[basename(file, '.test.ts')] ?? 10

/** Each to the part that takes the least so far, the longest first. */
function evenly(onStack: readonly string[], count: number): string[][] {
  const parts = Array.from({ length: count }, () => ({ took_s: 0, files: [] as string[] }))
  for (const file of bySize(onStack).toSorted((a, b) => screen_s(b) - screen_s(a))) {
    const least = parts.reduce((a, b) => (b.took_s < a.took_s ? b : a))
    least.files.push(file)
    least.took_s += screen_s(file)
  }
  return parts.map(({ files }) => files.sort(byLoadingFirst))
}

/** How a page loads is measured on the data of a new installation, before other files have added to it. */
const byLoadingFirst = (a: string, b: string) =>
  Number(b.includes('/loading.')) - Number(a.includes('/loading.')) || a.localeCompare(b)
