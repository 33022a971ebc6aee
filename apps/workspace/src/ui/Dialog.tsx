import { Dialog as Primitive } from 'radix-ui'
import { type CSSProperties, type ReactNode, useRef, useState } from 'react'
import { CloseIcon } from './icons.tsx'
import { focusAgain, openerOf, rememberOpener } from './opener.ts'

export interface DialogProps {
  onClose: () => void
  title: ReactNode
  description?: ReactNode
  children: ReactNode
  /** May not be closed yet; a try to close calls onHeld in place of onClose. */
  held?: boolean
  onHeld?: () => void
  size?: 'narrow' | 'wide'
}

/**
 * A modal dialog: focus goes to its first text field, stays inside, and returns to where it came from. The page
 * behind is kept from scrolling by our own style sheet, and the backdrop is an element of ours: the library's
 * backdrop writes a style element into the page, which the Content-Security-Policy forbids.
 */
export function Dialog(props: DialogProps) {
  const { onClose, title, description, children, held = false, onHeld, size = 'narrow' } = props
  const content = useRef<HTMLDivElement>(null)
  const [opener] = useState(openerOf)
  const [gutter] = useState(() => window.innerWidth - document.documentElement.getBoundingClientRect().width)
  return (
    <Primitive.Root open onOpenChange={(next) => !next && (held ? onHeld?.() : onClose())}>
      <Primitive.Portal>
        <div className="dialog-place" style={{ '--gutter': `${gutter}px` } as CSSProperties}>
          <Primitive.Content
            ref={content}
            className={`dialog dialog-${size}`}
            onPointerDownOutside={stayForToasts}
            onOpenAutoFocus={(event) => {
              event.preventDefault()
              const dialog = content.current as HTMLDivElement
              rememberOpener(dialog, opener)
              const field = dialog.querySelector<HTMLElement>('input:not([type="checkbox"])')
              ;(field ?? dialog).focus()
            }}
            onCloseAutoFocus={(event) => {
              event.preventDefault()
              focusAgain(opener)
            }}
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

/** A press on a toast is not a wish to leave the dialog. */
function stayForToasts(event: Event): void {
  if ((event.target as Element | null)?.closest('[data-toasts]')) event.preventDefault()
}
