import { heartbeat } from '../progress.ts'
import { openDataDir } from './data-dir.ts'
import type { Lifecycle } from './lifecycle.ts'
import { requireFreePort } from './ports.ts'
import type { LocalStack, LocalStackOptions } from './stack.ts'

/**
 * Starts the whole product on this machine. Everything it starts is in `lifecycle` as soon as it runs, even
 * if this rejects, and the caller stops it. The most frequent obstacles are checked before the rest is
 * loaded.
 * @throws StartError with a sentence for the person who started it.
 */
export async function startLocalStack(lifecycle: Lifecycle, options: LocalStackOptions): Promise<LocalStack> {
  const { settings, signal, show } = options
  // Before the ports: of two starts at once, the one without the folder leaves them to the other.
  const dataDir = await heartbeat(show, () => 'Opening DATA_DIR', openDataDir(settings.dataDir))
  lifecycle.add({ stop: async () => dataDir.release() })
  for (const [name, port] of Object.entries(settings.ports)) await requireFreePort(port, name)
  const { startStackOn } = await heartbeat(show, () => 'Loading', import('./stack.ts'))
  signal?.throwIfAborted()
  return startStackOn(dataDir, lifecycle, options)
}
