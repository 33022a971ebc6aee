import { type ButtonHTMLAttributes, type ReactNode, type Ref, useId } from 'react'

export interface ButtonProps extends Omit<ButtonHTMLAttributes<HTMLButtonElement>, 'disabled'> {
  variant?: 'primary' | 'plain' | 'quiet' | 'danger'
  /** At work: shown as such, and pressed to no effect. */
  busy?: boolean | undefined
  /** Why it cannot be used now. It stays reachable by keyboard, so that the reason can be found. */
  unavailable?: string | undefined
  wide?: boolean
  icon?: ReactNode
  ref?: Ref<HTMLButtonElement>
}

export function Button({
  variant = 'plain',
  busy = false,
  unavailable,
  wide = false,
  icon,
  type = 'button',
  className,
  children,
  onClick,
  ...rest
}: ButtonProps) {
  const reasonId = useId()
  const off = busy || unavailable !== undefined
  return (
    <>
      <button
        {...rest}
        type={off ? 'button' : type}
        className={['button', `button-${variant}`, wide && 'button-wide', className]
          .filter(Boolean)
          .join(' ')}
        aria-disabled={off || undefined}
        aria-busy={busy || undefined}
        aria-describedby={unavailable ? reasonId : rest['aria-describedby']}
        title={unavailable}
        onClick={off ? (event) => event.preventDefault() : onClick}
      >
        {busy ? <span className="spinner" aria-hidden="true" /> : icon}
        <span className="button-label">{children}</span>
      </button>
      {unavailable && (
        <span id={reasonId} hidden>
          {unavailable}
        </span>
      )}
    </>
  )
}
