/** The cut of a key, drawn over the whole width at the foot of a page. */
const CUTS = [34, 58, 46, 80, 64, 96, 52, 72, 40, 88, 60, 44, 76, 54, 92, 66, 48, 84, 56, 70]

export function Divider() {
  const width = 40
  return (
    <svg
      className="divider"
      viewBox={`0 0 ${CUTS.length * width} 100`}
      preserveAspectRatio="none"
      aria-hidden="true"
    >
      {CUTS.map((height, index) => (
        <rect
          // biome-ignore lint/suspicious/noArrayIndexKey: a drawing; nothing moves.
          key={index}
          className={index === 8 ? 'divider-marked' : undefined}
          x={index * width + 1}
          y={100 - height}
          width={width - 2}
          height={height}
        />
      ))}
    </svg>
  )
}
