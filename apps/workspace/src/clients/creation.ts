import { useRef, useState } from 'react'
import type { Scope } from '#shared/oauth/scopes.ts'
import { clientChanged, createClient } from '../api/clients.ts'
import { useCompany } from '../api/company.ts'
import type { NewClient, OAuthClient } from '../api/contract.ts'
import { ApiProblem } from '../api/request.ts'
import { useForm } from '../ui/form.ts'
import { type ErrorWords, useSubmission } from '../ui/submit.ts'
import { nameError } from './client-name.ts'
import { type Expiry, expiresAt, lifetimeOf } from './expiry.ts'
import { algorithmOf, isPrivateKey, makeKeyPair, publicKeyIn } from './key-pair.ts'
import { type Credential, setReveal } from './reveal.ts'

export interface CreationOptions {
  onClose: () => void
  /** The client that the new one takes over from. */
  replaces?: OAuthClient
  /** Those of a replacement; default: the same as before. */
  scopes?: readonly Scope[]
}

/** How a new client will authenticate: by a secret, by a key pair created here, or by one of the company's own. */
export type AuthChoice = 'secret' | 'new key' | 'own key'

interface Draft {
  scopes: Scope[]
  auth: AuthChoice
  expiry: Expiry
}

const ERRORS: ErrorWords = {
  title: 'The client was not created',
  noAnswer: {
    title: 'No answer came',
    text: 'The client may or may not have been created. Try again: it is never created twice.',
  },
  client_limit_reached: 'Your company has too many active clients',
}
const NOT_REPLACED = {
  title: 'This client can no longer be replaced',
  text: 'It has just been revoked, or a teammate has already created its replacement. Cancel to see which.',
}

/** The form that creates a client, and shows its secret or key once when it has. */
export function useCreation({ onClose, replaces, scopes }: CreationOptions) {
  const company = useCompany()
  const { vendorId } = company
  // A replacement begins as what it replaces.
  const [draft, setDraft] = useState<Draft>({
    scopes: [...(scopes ?? replaces?.scopes ?? [])],
    auth: replaces?.authMethod === 'private_key_jwt' ? 'new key' : 'secret',
    expiry: { lifetime: replaces ? lifetimeOf(replaces) : 'never', date: '' },
  })
  const request = useRequest()
  const [lost, setLost] = useState<OAuthClient>()
  const [taken, setTaken] = useState(false)

  function change(part: Partial<Draft>): void {
    setDraft({ ...draft, ...part })
    form.clearErrors('scopes', 'expiresAt')
  }

  const form = useForm<'name' | 'scopes' | 'publicKey' | 'expiresAt'>({
    submission: useSubmission(ERRORS),
    check: ({ name, publicKey }) => ({
      name: nameError(name),
      scopes: draft.scopes.length === 0 && 'Choose at least one scope.',
      publicKey: draft.auth === 'own key' && publicKeyError(publicKey),
      expiresAt: draft.expiry.lifetime === 'date' && draft.expiry.date === '' && 'Choose the day.',
    }),
    async send({ name, publicKey }) {
      const { body, idempotencyKey, credential } = await request({
        ...draft,
        name,
        publicKey,
        replaces: replaces?.clientId,
      })
      const { clientSecret, ...client } = await createClient(vendorId, body, idempotencyKey).catch(
        (error) => {
          setTaken(error instanceof ApiProblem && error.errors.some(({ pointer }) => pointer === '/replaces'))
          throw error
        },
      )
      if (replaces) clientChanged(vendorId, { ...replaces, replacedBy: client.clientId })
      const revealed = credential ?? (clientSecret === null ? undefined : { secret: clientSecret })
      if (!revealed) return setLost(client)
      onClose()
      setReveal({ company, client, credential: revealed, replaces })
    },
    subjects: {
      name: 'The name',
      scopes: 'The choice of scopes',
      publicKey: 'The key',
      expiresAt: 'The day',
    },
  })
  return { ...form, failure: form.failure && taken ? NOT_REPLACED : form.failure, draft, change, lost }
}

function publicKeyError(text: string): string | undefined {
  if (isPrivateKey(text)) return 'This is a private key. Paste the public one.'
  return text === '' ? 'Paste the public key.' : undefined
}

interface Input extends Draft {
  name: string
  publicKey: string
  replaces: string | undefined
}

interface CreationRequest {
  body: NewClient
  idempotencyKey: string
  /** Undefined: the service issues a secret. */
  credential?: Credential
}

/** The same input is the same request, however often it is sent: with the same key, until the same second. */
function useRequest(): (input: Input) => Promise<CreationRequest> {
  const last = useRef<{ input: string; request: CreationRequest }>(undefined)
  return async (input) => {
    const text = JSON.stringify(input)
    if (last.current?.input !== text) last.current = { input: text, request: await requestOf(input) }
    return last.current.request
  }
}

async function requestOf(input: Input): Promise<CreationRequest> {
  const { name, scopes, auth, expiry, replaces } = input
  const idempotencyKey = crypto.randomUUID()
  const at = expiresAt(expiry, new Date())
  const body = { name, scopes, ...(replaces && { replaces }), ...(at && { expiresAt: at }) }
  if (auth === 'secret') return { body, idempotencyKey }
  if (auth === 'new key') {
    const { publicKey, privateKey } = await makeKeyPair()
    const credential = { privateKey, algorithm: 'ES256' } as const
    return { body: { ...body, publicKey }, idempotencyKey, credential }
  }
  const credential = { algorithm: algorithmOf(input.publicKey) }
  return { body: { ...body, publicKey: publicKeyIn(input.publicKey) }, idempotencyKey, credential }
}
