/** The height of a drawing of bars; each bar is one wide. */
export const BARS_HEIGHT = 100

/** The least that something which happened is high, so that it is seen in a low drawing too. */
const LOWEST = 8

/** Returns an SVG path with a bar for each count above 0. @param most the count that fills the full height. */
export const barsOf = (counts: readonly number[], most: number): string =>
  counts
    .map((count, index) => [index, (count / Math.max(1, most)) * BARS_HEIGHT] as const)
    .filter(([, height]) => height > 0)
    .map(([index, height]) => `M${index},${BARS_HEIGHT}h0.8v${-Math.max(LOWEST, height).toFixed(1)}h-0.8z`)
    .join('')
