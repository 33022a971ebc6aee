/** A line of what is to come. */
export const SkeletonLine = ({ className }: { className: string }) => (
  <span
    className={`h-3.5 animate-pulse rounded-xs bg-sunk forced-colors:border forced-colors:border-[GrayText] ${className}`}
  />
)

export const Skeleton = ({ lines = 4 }: { lines?: number }) => (
  <div className="grid gap-4.5 py-2" aria-hidden="true">
    {Array.from({ length: lines }, (_, line) => (
      // biome-ignore lint/suspicious/noArrayIndexKey: bars without identity.
      <SkeletonLine key={line} className={['w-3/4', 'w-1/2', 'w-3/5'][line % 3] as string} />
    ))}
  </div>
)
