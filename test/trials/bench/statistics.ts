export interface Spread {
  median: number
  min: number
  max: number
}

export function spread(values: number[]): Spread {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = Math.floor(sorted.length / 2)
  const median =
    sorted.length % 2
      ? (sorted[middle] as number)
      : ((sorted[middle - 1] as number) + (sorted[middle] as number)) / 2
  return { median, min: sorted[0] as number, max: sorted.at(-1) as number }
}

/** A figure that was measured once. */
export const single = (value: number): Spread => ({ median: value, min: value, max: value })

export const shifted = ({ median, min, max }: Spread, by: number): Spread => ({
  median: median + by,
  min: min + by,
  max: max + by,
})
