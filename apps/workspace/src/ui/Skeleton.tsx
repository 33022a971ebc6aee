const LINE = 'h-3.5 animate-pulse rounded-xs bg-sunk forced-colors:border forced-colors:border-[GrayText]'
const WIDTHS = ['w-3/4', 'w-1/2', 'w-3/5']

/** Lines of what is to come. */
export const Skeleton = ({ lines = 4 }: { lines?: number }) => (
  <div className="grid gap-4.5 py-2" aria-hidden="true">
    {Array.from({ length: lines }, (_, line) => (
      // biome-ignore lint/suspicious/noArrayIndexKey: bars without identity.
      <span key={line} className={`${LINE} ${WIDTHS[line % WIDTHS.length]}`} />
    ))}
  </div>
)
