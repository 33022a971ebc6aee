'use strict'

/*
 * Checks whether infra/node can run the project on this machine, and prints one sentence that says what to do
 * if not. npm scripts run this first, on the machine's own Node, so its syntax is that of Node 18.
 */
const { spawnSync } = require('node:child_process')
const { existsSync } = require('node:fs')
const { join } = require('node:path')

const ROOT = join(__dirname, '..')
/** The first version with argon2 in node:crypto. */
const OLDEST = { major: 24, minor: 7 }
const PLATFORMS = ['linux-x64', 'linux-arm64']

/** Returns the sentence, or undefined if nothing is missing. */
function obstacle({ platform, arch, version }) {
  const machine = `${platform}-${arch}`
  if (platform === 'win32')
    return 'Windows is not supported: use Linux, for example in WSL 2, and run npm ci there.'
  const packages = Object.keys(require(join(ROOT, 'package.json')).dependencies)
  const missing = packages.find((name) => !existsSync(join(ROOT, 'node_modules', name, 'package.json')))
  if (missing) return `Packages are not installed, such as ${missing}: run npm ci first.`
  const node = join(ROOT, `node_modules/node-${machine}/bin/node`)
  if (existsSync(node)) return whyNotRunning(node)
  if (isRecent(version)) return undefined
  const ownNode = `put Node ${OLDEST.major}.${OLDEST.minor} or newer on the PATH (this is ${version})`
  return PLATFORMS.includes(machine)
    ? `The packages are installed without Node, which is an optional one: run npm ci --include=optional, or ${ownNode}.`
    : `The packages bring Node only for ${PLATFORMS.join(' and ')}, and this machine is ${machine}: ${ownNode}.`
}

function isRecent(version) {
  const [major, minor] = version.slice(1).split('.').map(Number)
  return major > OLDEST.major || (major === OLDEST.major && minor >= OLDEST.minor)
}

function whyNotRunning(node) {
  const { error, stdout, status, signal } = spawnSync(node, ['--version'], { env: {}, encoding: 'utf8' })
  if (status === 0 && stdout.startsWith('v')) return undefined
  const reason = error ? error.code : signal || `exit code ${status}`
  return `The Node of the packages does not run (${reason}). It needs Linux with glibc 2.28 or newer, on a disk that allows programs. If this machine has both, run npm ci again: ${node} is damaged.`
}

const sentence = obstacle(process)
if (sentence) {
  console.error(sentence)
  process.exitCode = 1
}
