export type DayKind = 'final' | 'provisional' | 'missing' | 'before'

/** How a kind of day is drawn. `before` is a line, of the days of the previous period. */
export const DAY_GROUNDS: Record<DayKind, string> = {
  final: 'bg-bar',
  provisional: 'bg-[repeating-linear-gradient(-45deg,var(--chart-bar)_0_1.5px,var(--chart-pale)_1.5px_4px)]',
  missing: 'bg-[repeating-linear-gradient(-45deg,var(--chart-missing)_0_1.5px,transparent_1.5px_4px)]',
  before: 'bg-(--chart-before)',
}

const OUTLINE = 'outline -outline-offset-1 outline-(--chart-missing)'

/** The mark of a kind of day, beside its name. */
export const DayMark = ({ of }: { of: DayKind }) => (
  <span
    className={`inline-block w-3 flex-none forced-color-adjust-none [print-color-adjust:exact] ${DAY_GROUNDS[of]} ${of === 'before' ? 'h-0.5' : 'h-3'} ${of === 'missing' ? OUTLINE : ''}`}
    aria-hidden="true"
  />
)
