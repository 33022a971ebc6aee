'use strict'

const { spawnSync } = require('node:child_process')
const { existsSync, realpathSync } = require('node:fs')
const { join } = require('node:path')

// `npx mocha` begins on the machine's own Node, which may be too old for the tests.
const node = join(__dirname, `node_modules/node-${process.platform}-${process.arch}/bin/node`)
if (existsSync(node) && process.execPath !== realpathSync(node)) {
  // A Ctrl-C reaches the second process too, which ends first.
  process.on('SIGINT', () => {})
  const { status } = spawnSync(
    join(__dirname, 'infra/node'),
    [...process.execArgv, ...process.argv.slice(1)],
    {
      stdio: 'inherit',
    },
  )
  process.exit(status ?? 1)
}

module.exports = {
  require: ['test/support/servers.ts'],
  timeout: 300_000,
  exit: false,
}
