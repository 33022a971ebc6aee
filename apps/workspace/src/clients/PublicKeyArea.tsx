import { type ComponentProps, useState } from 'react'
import { CodeArea } from '../ui/Field.tsx'
import { isPrivateKey } from './key-pair.ts'

interface PublicKeyAreaProps extends Omit<ComponentProps<typeof CodeArea>, 'onChange'> {
  onText: (text: string) => void
}

/** A private key leaves the field at once, and is sent and kept nowhere. */
export function PublicKeyArea({ onText, error, ...area }: PublicKeyAreaProps) {
  const [emptied, setEmptied] = useState(false)
  return (
    <CodeArea
      {...area}
      error={
        error ||
        (emptied &&
          'This is a private key. Paste the public one. Nothing was sent, and the field is empty again.')
      }
      onChange={({ target: { value } }) => {
        const isPrivate = isPrivateKey(value)
        setEmptied(isPrivate)
        onText(isPrivate ? '' : value)
      }}
    />
  )
}
