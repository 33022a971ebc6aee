/** What a figure is to reach. A moonshot is what would be splendid. */
export interface Goal {
  least?: number
  most?: number
  moonshot?: number
}

export const meets = (
  { least = Number.NEGATIVE_INFINITY, most = Number.POSITIVE_INFINITY }: Goal,
  value: number,
) => value >= least && value <= most

export function boundsText({ least, most }: Goal): string {
  if (least !== undefined && most !== undefined) return `${least} to ${most}`
  return least !== undefined ? `≥ ${least}` : `≤ ${most}`
}

export const goalText = (goal: Goal): string =>
  goal.moonshot === undefined ? boundsText(goal) : `${boundsText(goal)}, moonshot ${goal.moonshot}`
