import { useRef, useState } from 'react'
import type { Scope } from '#shared/oauth/scopes.ts'
import { clientChanged, createClient } from '../api/clients.ts'
import { useCompany } from '../api/company.ts'
import type { NewClient, OAuthClient } from '../api/contract.ts'
import { ApiProblem, Offline } from '../api/request.ts'
import { draftOf, keepDraft } from '../session/drafts.ts'
import { useForm } from '../ui/form.ts'
import { type Failure, OFFLINE, useSubmission } from '../ui/submit.ts'
import type { Way } from './AuthChoice.tsx'
import { fieldErrors, nameError, nextName } from './client-name.ts'
import { type Expiry, expiresAt, expiryError, lifetimeOf } from './expiry.ts'
import { makeKeyPair, type PublicKey, readPublicKey } from './key-pair.ts'
import { type Credential, setReveal } from './reveal.ts'

export interface CreationOptions {
  onClose: () => void
  /** The client that the new one takes over from. */
  replaces?: OAuthClient
  /** Those of a replacement; default: the same as before. */
  scopes?: readonly Scope[]
}

/** Where the dialog's input is kept until it is sent or dismissed, so that the end of a session does not lose it. */
export const creationDraft = (vendorId: string, replaces?: OAuthClient): string =>
  `create-client ${vendorId} ${replaces?.clientId ?? ''}`

/** Without a pasted key, which could be a private one by mistake. */
interface Draft {
  name: string
  scopes: Scope[]
  way: Way
  expiry: Expiry
}

/** A replacement begins as what it replaces. */
function firstDraft({ replaces, scopes }: CreationOptions): Draft {
  return {
    name: replaces ? nextName(replaces.name) : '',
    scopes: [...(scopes ?? replaces?.scopes ?? [])],
    way: replaces?.authMethod === 'private_key_jwt' ? 'made' : 'secret',
    expiry: { lifetime: replaces ? lifetimeOf(replaces) : 'never', date: '' },
  }
}

/** The form that creates a client, and shows its secret or key once when it has. */
export function useCreation(options: CreationOptions) {
  const { onClose, replaces, scopes: given } = options
  const company = useCompany()
  const { vendorId } = company
  const key = creationDraft(vendorId, replaces)
  const [draft, setDraft] = useState<Draft>(() => {
    const kept = draftOf(key)
    return { ...firstDraft(options), ...(kept && JSON.parse(kept)), ...(given && { scopes: [...given] }) }
  })
  const request = useRequest()
  const [lost, setLost] = useState<OAuthClient>()

  function change(part: Partial<Draft>): void {
    const next = { ...draft, ...part }
    keepDraft(key, JSON.stringify(next))
    setDraft(next)
    form.forgive(...(Object.keys(part) as (keyof Draft)[]))
  }

  function close(): void {
    keepDraft(key, undefined)
    onClose()
  }

  const form = useForm<Field>({
    submission: useSubmission(explained),
    async check({ name, publicKey }) {
      const read = draft.way === 'own' && (await readPublicKey(publicKey))
      return {
        ...nameError(name),
        ...(draft.scopes.length === 0 && { scopes: 'Choose at least one scope.' }),
        ...(read && 'refused' in read && { publicKey: read.refused }),
        ...expiryError(draft.expiry, new Date()),
      }
    },
    async send({ name, publicKey }) {
      const input = { ...draft, name, publicKey, replaces: replaces?.clientId }
      const { body, idempotencyKey, credential } = await request(input)
      const { clientSecret, ...client } = await createClient(vendorId, body, idempotencyKey)
      if (replaces) clientChanged(vendorId, { ...replaces, replacedBy: client.clientId })
      const revealed = credential ?? (clientSecret === null ? undefined : { secret: clientSecret })
      if (!revealed) return setLost(client)
      close()
      setReveal({ company, client, credential: revealed, replaces })
    },
    refused: fieldErrors,
  })
  return { ...form, draft, change, lost, close }
}

type Field = keyof Draft | 'publicKey'

interface Input extends Draft {
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

async function requestOf({
  name,
  scopes,
  way,
  publicKey,
  expiry,
  replaces,
}: Input): Promise<CreationRequest> {
  const idempotencyKey = crypto.randomUUID()
  const at = expiresAt(expiry, new Date())
  const body = { name, scopes, ...(replaces && { replaces }), ...(at && { expiresAt: at }) }
  if (way === 'secret') return { body, idempotencyKey }
  if (way === 'made') {
    const { publicKey: made, privateKey } = await makeKeyPair()
    const credential = { privateKey, algorithm: made.algorithm }
    return { body: { ...body, publicKey: made.jwk }, idempotencyKey, credential }
  }
  // What `check` refuses is not sent.
  const { jwk, algorithm } = (await readPublicKey(publicKey)) as PublicKey
  return { body: { ...body, publicKey: jwk }, idempotencyKey, credential: { algorithm } }
}

function explained(error: unknown): Failure {
  if (error instanceof Offline) return OFFLINE
  if (!(error instanceof ApiProblem)) {
    return {
      title: 'No answer came',
      text: 'The client may or may not have been created. Try again: it is never created twice.',
    }
  }
  if (error.code === 'client_limit_reached') {
    return {
      title: 'Your company has 100 active clients',
      text: 'First revoke one that you no longer need.',
    }
  }
  if (error.errors.some(({ pointer }) => pointer === '/replaces')) {
    return {
      title: 'This client can no longer be replaced',
      text: 'It has just been revoked, or a teammate has already created its replacement. Cancel to see which.',
    }
  }
  return { title: 'The client was not created', text: error.message }
}
