import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { reportChecks } from '../checks.ts'
import { answersOfProxies } from './answers.ts'

/*
 * nginx and haproxy with the shipped configurations: what they answer themselves, then a host that vanishes under load.
 * Both have to be installed (apt-get install nginx haproxy), so this is a command of its own and not part of `npm test`.
 * The host needs root, for a network namespace. `npm run test:proxies -- answers` leaves it out.
 */
for (const name of ['nginx', 'haproxy'] as const) reportChecks(name, await answersOfProxies(name))
if (process.argv[2] !== 'answers') {
  const args = ['--net', process.execPath, join(import.meta.dirname, 'gone.ts')]
  const [code] = await once(spawn('unshare', args, { stdio: 'inherit' }), 'exit')
  if (code !== 0) process.exitCode = 1
}
