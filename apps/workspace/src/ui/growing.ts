import { startTransition, useEffect, useState } from 'react'

/**
 * How many items of a long list to draw: one step at first, then a step more at a time, so that no task is so long that
 * a slow machine stops answering.
 */
export function useGrowing(total: number, step: number): number {
  const [count, setCount] = useState(step)
  useEffect(() => {
    if (count < total) startTransition(() => setCount(count + step))
  }, [count, total, step])
  return count
}
