import type { Scope } from '#shared/oauth/scopes.ts'
import { clientChanged, sendNewClient } from '../api/clients.ts'
import { useCompany } from '../api/company.ts'
import type { KeySet, NewClient, OAuthClient } from '../api/contract.ts'
import { ApiProblem, mayHaveSucceeded } from '../api/request.ts'
import { useDraft } from '../ui/draft.ts'
import type { ErrorWords } from '../ui/explain.ts'
import { useForm } from '../ui/sent-form.ts'
import { nameError, nextName } from './client-name.ts'
import type { AuthMethod, Credential } from './credential.ts'
import { endOfDay, lastDayOfReplacement, NEVER } from './expiry.ts'
import { detectAlgorithm, jsonIn, makeKeyPair, type PublicKey } from './key-pair.ts'
import { missingClaim, PLATFORMS, toWorkload, type WorkloadDraft } from './platforms.ts'
import { setReveal } from './reveal.ts'
import { claimField, type WorkloadField } from './WorkloadFields.tsx'

export interface CreationOptions {
  onClose: () => void
  /** The client that the new one takes over from. */
  replaces?: OAuthClient
}

/** How a new client will authenticate. A key is created here, unless it is the company's own. */
type AuthChoice = AuthMethod | 'own_key'

interface Draft {
  auth: AuthChoice
  name: string
  publicKey: string
  scopes: Scope[]
  workload: WorkloadDraft
  /** As a date input has it, "2027-01-31", empty until a whole date is there. Or NEVER. */
  lastDay: string
}

const ERRORS: ErrorWords = {
  title: 'The client was not created',
  uncertain: 'The client may or may not have been created. Try again unchanged: it will not be created twice',
  idempotency_in_progress: {
    title: 'The client is still being created',
    text: 'Your first try has not ended yet. Try again in a few seconds, unchanged: it will not be created twice.',
  },
  client_limit_reached: 'Your company has too many active clients',
}

const NOT_REPLACED = {
  title: 'This client can no longer be replaced',
  text: 'It has just been revoked, or its replacement has already been created. Cancel to see which.',
}

/** Sent after another that had no answer. */
const NOT_THIS_ONE = 'This client was not created, but your earlier try may have created one'

/** The client exists, but the first answer, with its secret, never arrived. */
class SecretLost extends Error {}

const SECRET_LOST = {
  title: 'Created, but its secret is lost',
  text: 'Your first try created this client, but the answer with its secret never arrived, and a secret is sent only once. Revoke it, and create another with a different name.',
}

/** The form that creates a client, and shows its secret or key once when it has. */
export function useCreation({ onClose, replaces }: CreationOptions) {
  const company = useCompany()
  const { vendorId, clock } = company
  // A replacement begins as what it replaces.
  const [draft, setDraft] = useDraft<Draft>('new client', {
    name: replaces ? nextName(replaces.name) : '',
    publicKey: '',
    scopes: replaces?.scopes ?? [],
    auth: replaces?.authMethod ?? 'client_secret',
    workload: { platform: 'github', issuer: '', claims: {}, keys: '' },
    lastDay: replaces ? lastDayOfReplacement(replaces, clock, new Date()) : NEVER,
  })
  const requests = useRequests()
  const needsWorkload = draft.auth === 'workload_identity' && !replaces?.workload
  const missing = needsWorkload && missingClaim(draft.workload)
  const { issuer, fields } = PLATFORMS[draft.workload.platform]
  const needsIssuer = needsWorkload && !issuer && draft.workload.issuer.trim() === ''

  function change(part: Partial<Draft>): void {
    setDraft({ ...draft, ...part })
    form.clearErrors()
  }

  const form = useForm<'name' | 'scopes' | 'publicKey' | WorkloadField | 'expiresAt'>({
    words: ERRORS,
    idempotent: true,
    check: ({ name, publicKey }) => ({
      name: nameError(name),
      scopes: draft.scopes.length === 0 && 'Choose at least one scope.',
      publicKey: draft.auth === 'own_key' && publicKey === '' && 'Paste the public key.',
      'workload/issuer': needsIssuer && 'Enter the issuer.',
      ...(missing && {
        [claimField(missing.claim)]: `This field ${missing.unless ? 'or the one above ' : ''}is required.`,
      }),
      expiresAt: draft.lastDay === '' && 'Choose the day.',
    }),
    async send({ name, publicKey }) {
      const input = { ...draft, name, publicKey, replaces, zone: clock.zone }
      const request = await requests.requestFor(input)
      const { body, idempotencyKey, credential } = request
      const { clientSecret, ...client } = await sendNewClient(vendorId, body, idempotencyKey).catch(
        (error) => {
          if (mayHaveSucceeded(error)) request.hadNoAnswer = true
          throw error
        },
      )
      if (replaces) clientChanged(vendorId, { ...replaces, replacedBy: client.clientId })
      if (!credential && clientSecret === null) throw new SecretLost()
      onClose()
      const secret = { method: 'client_secret', secret: clientSecret ?? '' } as const
      setReveal({ company, client, credential: credential ?? secret, isAfterLoss: requests.isAfterLoss() })
    },
    subjects: {
      name: 'The name',
      scopes: 'The choice of scopes',
      publicKey: 'The key',
      'workload/issuer': 'The issuer',
      'workload/platform': 'The platform',
      ...Object.fromEntries(fields.map(({ claim, label }) => [claimField(claim), `“${label}”`])),
      'workload/claims': 'The claims',
      'workload/keys': 'The keys',
      expiresAt: 'The day',
    },
  })
  const { error } = form
  const isTaken = error instanceof ApiProblem && error.errors.some(({ pointer }) => pointer === '/replaces')
  const known = error instanceof SecretLost ? SECRET_LOST : isTaken ? NOT_REPLACED : form.failure
  const failure =
    known?.title === ERRORS.title && requests.isAfterLoss() ? { ...known, title: NOT_THIS_ONE } : known
  return { ...form, failure, draft, change }
}

interface Input extends Draft {
  replaces: OAuthClient | undefined
  /** The company's time zone, in which the chosen day ends. */
  zone: string
}

interface CreationRequest {
  body: NewClient
  idempotencyKey: string
  /** Undefined: the service issues a secret. */
  credential?: Credential
  /** It may have created the client. */
  hadNoAnswer?: true
}

/** The same input is the same request, however often it is sent, also after another was tried. */
function useRequests() {
  // Kept with the draft: who signs in again and sends the same must not create a second client.
  const [sent] = useDraft('requests', new Map<string, CreationRequest>())
  return {
    async requestFor(input: Input): Promise<CreationRequest> {
      const text = JSON.stringify({ ...input, replaces: input.replaces?.clientId })
      const request = sent.get(text) ?? (await buildRequest(input))
      // The last is the one that was sent last.
      sent.delete(text)
      sent.set(text, request)
      return request
    },
    /** Whether an earlier request, with other input, had no answer. */
    isAfterLoss: () => [...sent.values()].slice(0, -1).some(({ hadNoAnswer }) => hadNoAnswer),
  }
}

async function buildRequest(input: Input): Promise<CreationRequest> {
  const { name, scopes, auth, lastDay, replaces, zone } = input
  const idempotencyKey = crypto.randomUUID()
  const body = {
    name,
    scopes,
    ...(replaces && { replaces: replaces.clientId }),
    ...(lastDay !== NEVER && { expiresAt: await endOfDay(lastDay, zone) }),
  }
  if (auth === 'client_secret') return { body, idempotencyKey }
  if (auth === 'private_key_jwt') {
    const { publicKey, privateKey } = await makeKeyPair()
    const credential = { method: auth, privateKey, algorithm: 'ES256' } as const
    return { body: { ...body, publicKey }, idempotencyKey, credential }
  }
  if (auth === 'workload_identity') {
    const workload = replaces?.workload ?? toWorkload(input.workload)
    const keys = input.workload.keys.trim() && { keys: jsonIn<KeySet>(input.workload.keys) }
    const credential = { method: auth, workload }
    return { body: { ...body, workload: { ...workload, ...keys } }, idempotencyKey, credential }
  }
  const algorithm = detectAlgorithm(input.publicKey)
  const credential = { method: 'private_key_jwt', algorithm, keyFile: 'private-key.pem' } as const
  return { body: { ...body, publicKey: jsonIn<PublicKey>(input.publicKey) }, idempotencyKey, credential }
}
