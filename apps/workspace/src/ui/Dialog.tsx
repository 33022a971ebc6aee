import { Dialog as Primitive } from 'radix-ui'
import { type ReactNode, useRef } from 'react'
import { CloseIcon } from './icons.tsx'

export interface DialogProps {
  open: boolean
  onClose: () => void
  title: ReactNode
  description?: ReactNode
  children: ReactNode
  /** Why it may not be closed yet; closing then calls onHeld in place of onClose. */
  held?: boolean
  onHeld?: () => void
  size?: 'narrow' | 'wide'
}

/**
 * A modal dialog: focus stays inside and returns to where it came from. The page behind is kept from scrolling by
 * our own style sheet, and the backdrop is an element of ours: the library's backdrop writes a style element into
 * the page, which the Content-Security-Policy forbids.
 */
export function Dialog({
  open,
  onClose,
  title,
  description,
  children,
  held = false,
  onHeld,
  size = 'narrow',
}: DialogProps) {
  const content = useRef<HTMLDivElement>(null)
  const pressedOnBackdrop = (event: Event) => {
    // A press on a toast is not a wish to leave.
    if ((event.target as Element | null)?.closest('[data-toasts]')) event.preventDefault()
  }
  return (
    <Primitive.Root open={open} onOpenChange={(next) => !next && (held ? onHeld?.() : onClose())}>
      <Primitive.Portal>
        <div className="dialog-place">
          <Primitive.Content
            ref={content}
            className={`dialog dialog-${size}`}
            onPointerDownOutside={pressedOnBackdrop}
            {...(!description && { 'aria-describedby': undefined })}
          >
            <header className="dialog-head">
              <Primitive.Title className="dialog-title">{title}</Primitive.Title>
              <Primitive.Close className="icon-button" aria-label="Close">
                <CloseIcon />
              </Primitive.Close>
            </header>
            {description && (
              <Primitive.Description className="dialog-lede">{description}</Primitive.Description>
            )}
            {children}
          </Primitive.Content>
        </div>
      </Primitive.Portal>
    </Primitive.Root>
  )
}
