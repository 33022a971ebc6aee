import { useEffect, useState } from 'react'
import { deferred } from '../shell/deferred.tsx'
import { SearchIcon } from '../ui/icons.tsx'

export const Palette = deferred(() => import('./Palette.tsx'))

const ON_MAC = /Mac|iP(?:ad|hone)/.test(navigator.platform)

/** Opens the palette; so does Ctrl or Cmd and K, anywhere but in another dialog. */
export function PaletteButton() {
  const [open, setOpen] = useState(false)
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.key.toLowerCase() !== 'k' || !(event.ctrlKey || event.metaKey) || event.altKey) return
      event.preventDefault()
      if (!document.querySelector('[role="dialog"]')) setOpen(true)
    }
    window.addEventListener('keydown', onKey)
    return () => window.removeEventListener('keydown', onKey)
  }, [])
  return (
    <>
      <button
        type="button"
        className="palette-button"
        aria-keyshortcuts={ON_MAC ? 'Meta+K' : 'Control+K'}
        onClick={() => setOpen(true)}
      >
        <SearchIcon />
        <span className="palette-words">Search</span>
        <span className="key">{ON_MAC ? '⌘K' : 'Ctrl K'}</span>
      </button>
      {open && <Palette onClose={() => setOpen(false)} />}
    </>
  )
}
