import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { PROXY_FILES } from './proxies.ts'

/** Regenerates the proxies' configurations after a change of the routes or the workspace's headers. */
for (const [name, content] of Object.entries(PROXY_FILES))
  writeFileSync(join(import.meta.dirname, name), content)
