import { Toast } from 'radix-ui'
import { createContext, type ReactNode, useCallback, useContext, useState } from 'react'
import { Link } from 'wouter'
import { IconButton } from './Button.tsx'
import { CheckIcon, CloseIcon } from './icons.tsx'

const SHOWN_MS = 5_000
/** Long enough to decide to follow a link. */
const SHOWN_WITH_LINK_MS = 12_000

interface ToastLink {
  href: string
  label: string
}

const ToastContext = createContext<(text: ReactNode, link?: ToastLink) => void>(() => {})

/** Returns a function that shows a short confirmation for a few seconds. */
export const useToast = () => useContext(ToastContext)

export function Toaster({ children }: { children: ReactNode }) {
  const [toasts, setToasts] = useState<{ id: number; text: ReactNode; link: ToastLink | undefined }[]>([])
  const show = useCallback((text: ReactNode, link?: ToastLink) => {
    setToasts((toasts) => [...toasts.slice(-2), { id: (toasts.at(-1)?.id ?? 0) + 1, text, link }])
  }, [])
  const remove = (id: number) => setToasts((toasts) => toasts.filter((toast) => toast.id !== id))
  return (
    <ToastContext value={show}>
      <Toast.Provider swipeDirection="down">
        {children}
        {toasts.map(({ id, text, link }) => (
          <Toast.Root
            key={id}
            className="flex animate-appear items-center gap-2.5 rounded-md bg-ink py-2 ps-3.5 pe-2 text-paper shadow-raised"
            duration={link ? SHOWN_WITH_LINK_MS : SHOWN_MS}
            onOpenChange={(open) => !open && remove(id)}
          >
            <span className="inline-flex text-[light-dark(var(--mark),var(--paper))]">
              <CheckIcon />
            </span>
            <div className="flex min-w-0 flex-1 flex-wrap items-center gap-x-3">
              <Toast.Description className="wrap-anywhere flex-[1_1_16ch]">{text}</Toast.Description>
              {link && (
                <Toast.Action asChild altText={link.label}>
                  <Link className="touch flex-none text-inherit" href={link.href}>
                    {link.label}
                  </Link>
                </Toast.Action>
              )}
            </div>
            <Toast.Close asChild>
              <IconButton className="text-inherit hover:bg-[rgb(128_128_128/0.3)]" aria-label="Dismiss">
                <CloseIcon />
              </IconButton>
            </Toast.Close>
          </Toast.Root>
        ))}
        <Toast.Viewport
          className="fixed end-5 bottom-[calc(20px+var(--bar))] z-50 grid w-[min(380px,calc(100vw-56px))] gap-2.5"
          data-toasts=""
        />
      </Toast.Provider>
    </ToastContext>
  )
}
