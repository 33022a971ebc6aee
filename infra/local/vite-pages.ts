import { createServer } from 'vite'
import { within } from '#shared/process/within.ts'
import { WORKSPACE_HEADERS } from '../workspace-headers.ts'
import type { Pages } from './gateway/pages.ts'
import type { Stoppable } from './lifecycle.ts'
import { freePort } from './ports.ts'
import { StartError } from './start-error.ts'

const START_DEADLINE_MS = 60_000

/**
 * The production headers, plus what Vite needs to write scripts and styles into the page and to report
 * changes over a WebSocket.
 */
function headersWith(webSocket: string): Record<string, string> {
  const sources: Record<string, string> = {
    'script-src': " 'unsafe-inline'",
    'style-src': " 'unsafe-inline'",
    'connect-src': ` ${webSocket}`,
  }
  const policy = WORKSPACE_HEADERS['Content-Security-Policy']
    .split('; ')
    .map((directive) => `${directive}${sources[directive.split(' ', 1)[0] as string] ?? ''}`)
  return { ...WORKSPACE_HEADERS, 'Content-Security-Policy': policy.join('; ') }
}

/**
 * Serves the screens from their sources in `root` with Vite's development server. An open page follows each
 * change. Vite keeps its cache in `cacheDir`, so that two stacks do not disturb each other.
 * @throws StartError after `deadline_ms`.
 */
export async function startVite(
  root: string,
  cacheDir: string,
  deadline_ms = START_DEADLINE_MS,
): Promise<Stoppable & { pages: Pages }> {
  const port = await freePort()
  const starting = createServer({
    root,
    cacheDir,
    configFile: `${root}/vite.config.ts`,
    clearScreen: false,
    // The gateway decides which paths are screens.
    appType: 'mpa',
    server: {
      middlewareMode: true,
      ws: { host: 'localhost', port },
      headers: headersWith(`ws://localhost:${port}`),
    },
  })
  const vite = await within(deadline_ms, starting)
  if (!vite) throw new StartError('Vite did not start. Start again when this machine is less busy.')
  return { pages: vite.middlewares, stop: () => vite.close() }
}
