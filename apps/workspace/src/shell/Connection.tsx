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
        <p>
          <OfflineIcon />
          You are offline. What you see may be out of date, and changes are not sent.
        </p>
      )}
    </div>
  )
}
