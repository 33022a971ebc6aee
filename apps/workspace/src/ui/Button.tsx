import { type ButtonHTMLAttributes, type ReactNode, type Ref, useId, useState } from 'react'

export interface ButtonProps extends Omit<ButtonHTMLAttributes<HTMLButtonElement>, 'disabled'> {
  variant?: 'primary' | 'plain' | 'quiet' | 'danger'
  /** At work: shown as such, and pressed to no effect. */
  busy?: boolean | undefined
  /** Why it cannot be used now. It stays reachable by keyboard, and says so when it is pressed. */
  unavailable?: string | undefined
  /** Says the reason elsewhere, in place of beside the button. */
  onUnavailable?: () => void
  icon?: ReactNode
  ref?: Ref<HTMLButtonElement>
}

const BUTTON =
  'button inline-flex wrap-break-word min-h-11 px-3 sm:min-h-10 sm:px-4 items-center justify-center gap-2 text-center leading-snug transition-colors duration-120'
const VARIANTS = {
  primary: 'border-primary bg-primary text-primary-ink hover:border-primary-hover hover:bg-primary-hover',
  plain: 'text-ink',
  quiet: 'border-transparent bg-transparent text-ink hover:border-line-strong',
  danger: 'border-bad text-bad hover:border-bad hover:bg-bad-soft',
}
const UNAVAILABLE = 'cursor-not-allowed border-line-strong bg-sunk text-muted hover:border-line-strong'
const SPINNER = 'size-4 animate-spin rounded-full border-2 border-current border-e-transparent'

/** Does something where a link would lead somewhere. */
export const TextButton = (props: Pick<ButtonProps, 'onClick' | 'children' | 'className'>) => (
  <button
    {...props}
    type="button"
    className={`cursor-pointer border-0 bg-transparent p-0 text-link underline underline-offset-3 ${props.className ?? ''}`}
  />
)

const ICON_BUTTON =
  'inline-grid size-11 flex-none cursor-pointer place-items-center rounded-md border-0 bg-transparent p-0 sm:size-9'
const ICON_COLORS =
  'text-muted hover:bg-sunk hover:text-ink data-[state=open]:bg-sunk data-[state=open]:text-ink'

/** A button that is an icon. Its label says what it does. */
export const IconButton = ({
  className = ICON_COLORS,
  ...rest
}: ButtonHTMLAttributes<HTMLButtonElement> & { 'aria-label': string; ref?: Ref<HTMLButtonElement> }) => (
  <button type="button" {...rest} className={`${ICON_BUTTON} ${className}`} />
)

export function Button({
  variant = 'plain',
  busy = false,
  unavailable,
  onUnavailable,
  icon,
  type = 'button',
  className = '',
  children,
  onClick,
  ...rest
}: ButtonProps) {
  const reasonId = useId()
  const [pressed, setPressed] = useState(false)
  const disabled = busy || unavailable !== undefined
  const explains = pressed && unavailable !== undefined && !onUnavailable
  if (pressed && unavailable === undefined) setPressed(false)
  const look = unavailable !== undefined && !busy ? UNAVAILABLE : VARIANTS[variant]
  return (
    <>
      <button
        {...rest}
        type={disabled ? 'button' : type}
        className={`${BUTTON} ${look} ${busy ? 'cursor-progress' : ''} ${className}`}
        aria-disabled={disabled || undefined}
        aria-busy={busy || undefined}
        aria-describedby={unavailable ? reasonId : rest['aria-describedby']}
        title={unavailable}
        onClick={
          disabled
            ? (event) => {
                event.preventDefault()
                if (unavailable === undefined) return
                setPressed(true)
                onUnavailable?.()
              }
            : onClick
        }
      >
        {(busy || icon) && (
          <span className="-ms-1 inline-flex">
            {busy ? <span className={SPINNER} aria-hidden="true" /> : icon}
          </span>
        )}
        <span>{children}</span>
      </button>
      {unavailable && (
        <span
          id={reasonId}
          className={explains ? 'button-reason basis-full text-sm text-warn' : 'sr-only'}
          role={explains ? 'status' : undefined}
        >
          {unavailable}
        </span>
      )}
    </>
  )
}
