import { useSyncExternalStore } from 'react'
import { OfflineIcon } from '../ui/icons.tsx'

const useOnline = (): boolean => useSyncExternalStore(subscribe, () => navigator.onLine)

function subscribe(listener: () => void): () => void {
  window.addEventListener('online', listener)
  window.addEventListener('offline', listener)
  return () => {
    window.removeEventListener('online', listener)
    window.removeEventListener('offline', listener)
  }
}

/** Says when this device has no connection. It lies over the page, so that nothing jumps. */
export function Connection() {
  const online = useOnline()
  return (
    <div className="connection" role="status">
      {!online && (
        <p className="fixed inset-x-0 bottom-0 z-35 flex items-center justify-center gap-2.5 bg-ink px-4 py-2 text-[14px] text-paper max-desk:bottom-[59px] low:bottom-0">
          <OfflineIcon />
          You are offline. What you see may be out of date, and changes are not sent.
        </p>
      )}
    </div>
  )
}
