/** A key whose bits are the bars of a chart. */
export const Brand = ({ nameClass = '' }: { nameClass?: string }) => (
  <span className="brand">
    <svg viewBox="0 0 32 32" width="32" height="32" aria-hidden="true" focusable="false">
      <rect className="brand-plate" width="32" height="32" rx="7" />
      <path
        className="brand-key"
        d="M10.500 7.500a4.500 4.500 0 1 0 0 9 4.500 4.500 0 0 0 0-9M15 12h11M19 12v5M22.500 12v9M26 12v6.500"
      />
    </svg>
    <span className={`brand-name ${nameClass}`}>Integration Access</span>
  </span>
)
