import { Dialog as Primitive } from 'radix-ui'
import { type CSSProperties, type MouseEvent, type ReactNode, useRef, useState } from 'react'
import { IconButton } from './Button.tsx'
import { focusNearest, surroundings } from './focus.ts'
import { CloseIcon } from './icons.tsx'

export interface ModalProps {
  onClose: () => void
  /** Default: its first text field takes the focus, and what had it before gets it back. */
  restoresFocus?: () => boolean
  className: string
  children: ReactNode
}

/**
 * A modal dialog. The focus stays inside and returns to where it came from. Scroll lock and backdrop are our
 * own, because the library's write a style element into the page, which the Content-Security-Policy forbids.
 */
export function Modal({ onClose, restoresFocus, className, children }: ModalProps) {
  const content = useRef<HTMLDivElement>(null)
  const [opener] = useState(findOpener)
  const [around] = useState(() => surroundings(opener))
  const [gutter] = useState(() => window.innerWidth - document.documentElement.getBoundingClientRect().width)
  return (
    <Primitive.Root open onOpenChange={(open) => !open && onClose()}>
      <Primitive.Portal>
        {/* biome-ignore lint/a11y/noStaticElementInteractions: by keyboard, Escape does it. */}
        <div
          className="pointer-events-auto fixed inset-0 z-30 grid animate-fade scroll-pb-44 overflow-auto overscroll-contain bg-sheet sm:scroll-pb-24 sm:bg-(--shade) sm:p-6 sm:[scrollbar-gutter:stable_both-edges] [@media(max-height:480px)]:scroll-pb-0"
          // The room that the page keeps for its scroll bar is on one side of the dialog's place.
          style={{ '--gutter': `${gutter}px` } as CSSProperties}
          onMouseDown={(event) => event.target === event.currentTarget && pressBeside(event, onClose)}
        >
          <Primitive.Content
            ref={content}
            className={`grid min-h-dvh w-full animate-appear wrap-anywhere grid-cols-1 content-start self-start bg-sheet outline-none sm:ms-(--gutter) sm:min-h-auto sm:place-self-center sm:rounded-lg sm:shadow-raised ${className}`}
            onPointerDownOutside={(event) => event.preventDefault()}
            onOpenAutoFocus={(event) => {
              event.preventDefault()
              const dialog = content.current as HTMLDivElement
              if (opener) openers.set(dialog, opener)
              const field = dialog.querySelector<HTMLElement>('input:not([type="checkbox"])')
              ;(field ?? dialog).focus({ preventScroll: field === null })
            }}
            onCloseAutoFocus={(event) => {
              event.preventDefault()
              if (restoresFocus?.() ?? true) opener?.focus()
              // If nothing has it yet.
              focusNearest(around)
            }}
          >
            {children}
          </Primitive.Content>
        </div>
      </Primitive.Portal>
    </Primitive.Root>
  )
}

export interface DialogProps {
  onClose: () => void
  title: ReactNode
  description?: ReactNode
  children: ReactNode
  /** While false, a try to close calls onRefuseClose in place of onClose. */
  canClose?: boolean
  onRefuseClose?: () => void
  size?: 'narrow' | 'wide'
}

/** A modal dialog with a title. */
export function Dialog(props: DialogProps) {
  const { onClose, title, description, children, canClose = true, onRefuseClose, size = 'narrow' } = props
  return (
    <Modal
      onClose={() => (canClose ? onClose() : onRefuseClose?.())}
      className={`gap-4.5 p-4 sm:px-7 sm:py-6 ${size === 'wide' ? 'sm:max-w-180' : 'sm:max-w-135'}`}
    >
      <header className="flex items-start justify-between gap-3">
        <Primitive.Title className="text-xl tracking-tight">{title}</Primitive.Title>
        <span className="-mt-1 -me-2">
          <CloseButton />
        </span>
      </header>
      {description && (
        <Primitive.Description className="-mt-2.5 text-ink-2">{description}</Primitive.Description>
      )}
      {children}
    </Modal>
  )
}

export const CloseButton = () => (
  <Primitive.Close asChild>
    <IconButton aria-label="Close">
      <CloseIcon />
    </IconButton>
  </Primitive.Close>
)

/** The buttons of a dialog, which stay in view while the rest scrolls. */
export const DialogFoot = ({ children }: { children: ReactNode }) => (
  <footer className="sticky bottom-0 z-1 -mx-4 mt-auto -mb-4 flex flex-wrap items-center justify-end gap-2.5 border-t border-line bg-sheet px-4 pt-3 pb-[calc(12px+env(safe-area-inset-bottom))] text-end sm:-bottom-6 sm:-mx-7 sm:mt-0 sm:-mb-6 sm:rounded-b-lg sm:px-7 sm:pt-3.5 sm:pb-5 [@media(max-height:480px)]:static">
    {children}
  </footer>
)

/** A press beside a dialog closes it, but for one on its scroll bar. It moves no focus. */
function pressBeside(event: MouseEvent<HTMLElement>, onClose: () => void): void {
  event.preventDefault()
  const { button, offsetX } = event.nativeEvent
  if (button === 0 && offsetX < event.currentTarget.clientWidth) onClose()
}

/** What had the focus before a dialog took it. */
const openers = new WeakMap<Element, HTMLElement>()

/**
 * Returns the element to focus when a dialog that opens now closes, if it is still there. A menu item is gone
 * by then, so it is the menu's button. For a dialog that follows another, it is what opened the first.
 */
function findOpener(): HTMLElement | null {
  const focused = document.activeElement as HTMLElement | null
  const menu = focused?.closest('[role="menu"]')
  if (menu) return document.getElementById(menu.getAttribute('aria-labelledby') ?? '')
  const dialog = focused?.closest('[role="dialog"]')
  return (dialog && openers.get(dialog)) ?? focused
}
