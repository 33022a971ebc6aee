'use strict'

const { spawnSync } = require('node:child_process')
const { existsSync, realpathSync } = require('node:fs')
const { delimiter, dirname, join } = require('node:path')

const node = join(__dirname, `node_modules/node-${process.platform}-${process.arch}/bin/node`)

/** Returns the exit code of a program that takes this one's place, with its terminal. */
function run(command, args) {
  // A Ctrl-C reaches the program too, which ends first.
  process.on('SIGINT', () => {})
  const env = { ...process.env, PATH: [dirname(command), process.env.PATH].join(delimiter) }
  return spawnSync(command, args, { stdio: 'inherit', env }).status ?? 1
}

// `npx mocha` begins on the machine's own Node, which may be too old for the tests.
if (!existsSync(node) || process.execPath !== realpathSync(node)) {
  const code = run(process.execPath, [join(__dirname, 'infra/check-node.cjs')])
  if (code !== 0) process.exit(code)
  if (existsSync(node)) process.exit(run(node, [...process.execArgv, ...process.argv.slice(1)]))
}

module.exports = {
  require: ['test/support/redacted-failures.ts', 'test/support/servers.ts'],
  timeout: 300_000,
  exit: false,
}
