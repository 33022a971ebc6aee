import type { ReactNode } from 'react'
import type { ClientRotation } from '../api/contract.ts'
import { Ago } from '../ui/Ago.tsx'
import { rehearsed } from './rotation-words.ts'

type Address = ClientRotation['addresses'][number]

const SHOWN = 8
const MOVE_WORDS: Readonly<Record<Address['move'], string>> = {
  not_yet: 'not yet moved',
  unknown: 'unknown whether it moved',
  moved: 'moved',
}
const ORDER = Object.keys(MOVE_WORDS)

/** What would fail if the client was revoked now, with the addresses that used it. */
export function Rehearsal({ rotation }: { rotation: ClientRotation | undefined }) {
  if (!rotation) return <p className="quiet">Looking up what would fail …</p>
  return (
    <section className="grid gap-1" aria-label="If revoked now">
      <p className="strong">{rehearsed(rotation)}</p>
      <AddressList rotation={rotation} />
    </section>
  )
}

/** The addresses that used the old client, those first that may use it again. @param track draws when it was. */
export function AddressList({
  rotation,
  track,
}: {
  rotation: ClientRotation
  track?: (address: Address) => ReactNode
}) {
  const addresses = rotation.addresses.toSorted((a, b) => ORDER.indexOf(a.move) - ORDER.indexOf(b.move))
  const more = addresses.length - SHOWN
  if (addresses.length === 0) return null
  return (
    <ul className="small">
      {addresses.slice(0, SHOWN).map((one) => (
        <li key={one.address} className="flex flex-wrap items-baseline gap-x-2.5 py-0.5">
          <code className="wrap">{one.address}</code>
          {rotation.replacementId !== null && <span>{MOVE_WORDS[one.move]}</span>}
          <span className="quiet">
            last used <Ago at={one.lastUsedAt} />
          </span>
          {track?.(one)}
        </li>
      ))}
      {more > 0 && <li className="quiet">and {more} more</li>}
    </ul>
  )
}
