import { type ReactNode, useId, useRef, useState } from 'react'
import { Labelled } from '../ui/Field.tsx'
import { isPrivateKey, readPublicKey } from './key-pair.ts'

/** How a new client will authenticate: by a secret, by a key pair made here, or by one of the company's own. */
export type Way = 'secret' | 'made' | 'own'

const WAYS = [
  {
    way: 'secret',
    title: 'Secret',
    text: 'Sent with each token request. Works with every OAuth library.',
  },
  {
    way: 'made',
    title: 'Key pair, created in this browser',
    text: 'You save the private key as a file. It is never sent, not even to us.',
  },
  {
    way: 'own',
    title: 'Key pair of your own',
    text: 'You paste the public key. The private key stays where it is.',
  },
] as const

const OPTION =
  'choice-option grid cursor-pointer grid-cols-[auto_1fr] items-start gap-3 border-b border-line px-1 py-[9px] hover:bg-sunk has-checked:bg-mark-soft [&_input]:mt-0.5'

export interface AuthChoiceProps {
  way: Way
  onChange: (way: Way) => void
  /** What is wrong with the public key that was pasted. */
  error: ReactNode
  onRetype: () => void
}

export function AuthChoice({ way, onChange, error, onRetype }: AuthChoiceProps) {
  const id = useId()
  return (
    <fieldset className="choice grid min-w-0 gap-2.5" aria-describedby={`${id}note`}>
      <legend>How will it authenticate?</legend>
      <p className="small quiet" id={`${id}note`}>
        With a key pair, it signs each token request, and we hold nothing that could be used in its place.
        This cannot be changed later.
      </p>
      <div className="grid">
        {WAYS.map((each) => (
          <label key={each.way} className={OPTION}>
            <input
              type="radio"
              name="way"
              value={each.way}
              checked={way === each.way}
              onChange={() => onChange(each.way)}
            />
            <span className="grid">
              <span className="strong">{each.title}</span>
              <span className="small quiet">{each.text}</span>
            </span>
          </label>
        ))}
      </div>
      {way === 'own' && <PublicKeyField error={error} onRetype={onRetype} />}
    </fieldset>
  )
}

interface Read {
  thumbprint?: string
  refused?: string
}

/** Names the key by its thumbprint as soon as it is pasted. A private key leaves the field at once. */
function PublicKeyField({ error, onRetype }: Pick<AuthChoiceProps, 'error' | 'onRetype'>) {
  const field = useRef<HTMLTextAreaElement>(null)
  const [read, setRead] = useState<Read>({})

  async function retype(): Promise<void> {
    const { current } = field
    const text = current?.value ?? ''
    onRetype()
    if (current && isPrivateKey(text)) {
      current.value = ''
      setRead({
        refused:
          'This is a private key. Paste the public one. Nothing was sent, and the field is empty again.',
      })
      return
    }
    const next = text.trim() === '' ? {} : await readPublicKey(text)
    // Meanwhile it may have been changed again.
    if (field.current?.value === text) setRead(next)
  }

  const { thumbprint } = read
  return (
    <Labelled
      label="Public key"
      error={error ?? read.refused}
      hint={
        thumbprint ? (
          <>
            Its thumbprint is <code className="wrap">{thumbprint}</code>
          </>
        ) : (
          'P-256, Ed25519, or RSA of 2,048 to 4,096 bits. As PEM or as a JWK.'
        )
      }
    >
      {(control) => (
        <textarea
          {...control}
          ref={field}
          className="input input-code"
          name="publicKey"
          rows={5}
          autoComplete="off"
          autoCapitalize="off"
          spellCheck={false}
          placeholder="-----BEGIN PUBLIC KEY-----"
          onChange={() => void retype()}
        />
      )}
    </Labelled>
  )
}
