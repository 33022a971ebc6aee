/** What a figure is to reach. */
export interface Goal {
  least?: number
  most?: number
}

export const meets = ({ least = -Infinity, most = Infinity }: Goal, value: number) =>
  value >= least && value <= most

export const goalText = ({ least, most }: Goal): string => (least !== undefined ? `≥ ${least}` : `≤ ${most}`)
