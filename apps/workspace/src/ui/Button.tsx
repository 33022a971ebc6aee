import { type ButtonHTMLAttributes, type ReactNode, type Ref, useId, useState } from 'react'

export interface ButtonProps extends Omit<ButtonHTMLAttributes<HTMLButtonElement>, 'disabled'> {
  variant?: 'primary' | 'plain' | 'quiet' | 'danger'
  /** At work: shown as such, and pressed to no effect. */
  busy?: boolean | undefined
  /** Why it cannot be used now. It stays reachable by keyboard, and says so when it is pressed. */
  unavailable?: string | undefined
  /** Says the reason elsewhere, in place of beside the button. */
  onUnavailable?: () => void
  wide?: boolean
  icon?: ReactNode
  ref?: Ref<HTMLButtonElement>
}

export function Button({
  variant = 'plain',
  busy = false,
  unavailable,
  onUnavailable,
  wide = false,
  icon,
  type = 'button',
  className,
  children,
  onClick,
  ...rest
}: ButtonProps) {
  const reasonId = useId()
  const [pressed, setPressed] = useState(false)
  const off = busy || unavailable !== undefined
  const said = pressed && unavailable !== undefined && !onUnavailable
  if (pressed && unavailable === undefined) setPressed(false)
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
        onClick={
          off
            ? (event) => {
                event.preventDefault()
                if (unavailable === undefined) return
                setPressed(true)
                onUnavailable?.()
              }
            : onClick
        }
      >
        {busy ? <span className="spinner" aria-hidden="true" /> : icon}
        <span className="button-label">{children}</span>
      </button>
      {unavailable && (
        <span
          id={reasonId}
          className={said ? 'button-reason' : 'off-screen'}
          role={said ? 'status' : undefined}
        >
          {unavailable}
        </span>
      )}
    </>
  )
}
