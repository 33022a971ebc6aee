const plural = (count: number, unit: string): string => `${count} ${unit}${count === 1 ? '' : 's'}`

/** "3 days 1 hour", "23 hours 54 minutes", "2 minutes". */
export function hoursInWords(hours: number): string {
  const minutes = Math.round(hours * 60)
  if (minutes < 1) return 'less than a minute'
  const [large, small, size] =
    minutes < 48 * 60 ? (['hour', 'minute', 60] as const) : (['day', 'hour', 24] as const)
  const count = size === 60 ? minutes : Math.round(hours)
  const parts = [
    [Math.floor(count / size), large],
    [count % size, small],
  ] as const
  return parts.flatMap(([amount, unit]) => (amount > 0 ? plural(amount, unit) : [])).join(' ')
}
