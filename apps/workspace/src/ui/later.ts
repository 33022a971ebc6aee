import { startTransition, useEffect, useState } from 'react'

/**
 * What is out of view at first waits for this, and is then drawn in slices: no task is so long that a slow machine
 * stops answering.
 * Returns false on the first render, then true.
 */
export function useLater(): boolean {
  const [later, setLater] = useState(false)
  useEffect(() => startTransition(() => setLater(true)), [])
  return later
}
