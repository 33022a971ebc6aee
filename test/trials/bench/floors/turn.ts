/** Returns a function that resolves once `ask` has been asked for all ids of its turn of the event loop together. */
export function sharedPerTurn(ask: (ids: string[]) => Promise<unknown>): (id: string) => Promise<void> {
  let waiting: { id: string; resolve: () => void }[] = []

  async function askTogether(): Promise<void> {
    const batch = waiting
    waiting = []
    await ask(batch.map(({ id }) => id))
    for (const { resolve } of batch) resolve()
  }

  return (id) =>
    new Promise((resolve) => {
      waiting.push({ id, resolve })
      if (waiting.length === 1) setImmediate(() => void askTogether())
    })
}
