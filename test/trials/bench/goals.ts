/** What a figure is to reach. */
export interface Goal {
  least?: number
  most?: number
}

export const meets = (
  { least = Number.NEGATIVE_INFINITY, most = Number.POSITIVE_INFINITY }: Goal,
  value: number,
) => value >= least && value <= most

export const goalText = ({ least, most }: Goal): string => (least !== undefined ? `≥ ${least}` : `≤ ${most}`)
