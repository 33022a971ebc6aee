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
        className="palette-button -mt-2.5 flex min-h-[38px] cursor-pointer items-center gap-2.5 rounded-md border border-line bg-transparent py-1.5 ps-3 pe-2.5 text-start text-[14px] text-ink-3 hover:border-control hover:text-ink max-desk:m-0 max-desk:border-transparent max-desk:p-2 max-desk:text-ink"
        aria-keyshortcuts={ON_MAC ? 'Meta+K' : 'Control+K'}
        onClick={() => setOpen(true)}
      >
        <SearchIcon />
        <span className="flex-1 max-desk:off-screen">Search</span>
        <span className="key max-desk:hidden">{ON_MAC ? '⌘K' : 'Ctrl K'}</span>
      </button>
      {open && <Palette onClose={() => setOpen(false)} />}
    </>
  )
}
