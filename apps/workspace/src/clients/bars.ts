/** The height of a drawing of bars; each bar is one wide. */
export const BARS_HEIGHT = 100

/** The least that something which happened is high, so that it is seen in a low drawing too. */
const LOWEST = 8

/**
 * Returns an SVG path with a bar for each count above 0.
 * @param most the highest count, or the highest sum of two that stand on each other
 * @param below the counts whose bars these stand on
 */
export const barsOf = (counts: readonly number[], most: number, below: readonly number[] = []): string =>
  counts
    .map((count, index) => ({
      index,
      height: heightOf(count, most),
      foot: BARS_HEIGHT - heightOf(below[index] ?? 0, most),
    }))
    .filter(({ height }) => height > 0)
    .map(({ index, height, foot }) => `M${index},${foot.toFixed(1)}h0.8v${-height.toFixed(1)}h-0.8z`)
    .join('')

// The room above the highest sum is for a second bar that is drawn higher than its count.
const heightOf = (count: number, most: number): number =>
  count > 0 ? Math.max(LOWEST, (count / most) * (BARS_HEIGHT - LOWEST)) : 0
