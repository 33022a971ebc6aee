import { Toast } from 'radix-ui'
import { createContext, type ReactNode, useCallback, useContext, useState } from 'react'
import { CheckIcon, CloseIcon } from './icons.tsx'

const SHOWN_MS = 5_000

const ToastContext = createContext<(text: ReactNode) => void>(() => {})

/** Returns a function that shows a short confirmation for a few seconds. */
export const useToast = () => useContext(ToastContext)

export function Toaster({ children }: { children: ReactNode }) {
  const [toasts, setToasts] = useState<{ id: number; text: ReactNode }[]>([])
  const show = useCallback((text: ReactNode) => {
    setToasts((shown) => [...shown.slice(-2), { id: (shown.at(-1)?.id ?? 0) + 1, text }])
  }, [])
  const remove = (id: number) => setToasts((shown) => shown.filter((toast) => toast.id !== id))
  return (
    <ToastContext value={show}>
      <Toast.Provider duration={SHOWN_MS} swipeDirection="down">
        {children}
        {toasts.map(({ id, text }) => (
          <Toast.Root key={id} className="toast" onOpenChange={(open) => !open && remove(id)}>
            <CheckIcon />
            <Toast.Description className="toast-text">{text}</Toast.Description>
            <Toast.Close className="icon-button" aria-label="Dismiss">
              <CloseIcon />
            </Toast.Close>
          </Toast.Root>
        ))}
        <Toast.Viewport className="toasts" data-toasts="" />
      </Toast.Provider>
    </ToastContext>
  )
}
