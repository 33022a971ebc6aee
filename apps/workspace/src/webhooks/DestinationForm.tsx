import { type FormEvent, type ReactNode, useRef, useState } from 'react'
import { CALLBACK_URL_PROBLEMS } from '#shared/problems/callback-url-problems.ts'
import { useCompany } from '../api/company.ts'
import type { CallbackDestination } from '../api/contract.ts'
import { ApiProblem, Offline } from '../api/request.ts'
import { saveDestination } from '../api/resources.ts'
import { keepDraft } from '../session/drafts.ts'
import { Button } from '../ui/Button.tsx'
import { DocsLink } from '../ui/DocsLink.tsx'
import { DOCS } from '../ui/docs.ts'
import { AboutError } from '../ui/FailureNotice.tsx'
import { Field } from '../ui/Field.tsx'
import { type Failure, useSubmission } from '../ui/submit.ts'
import { useToast } from '../ui/Toaster.tsx'
import { checkUrl, type UrlCheck } from './check-url.ts'

export interface DestinationFormProps {
  destination: CallbackDestination
  typed: string
  onType: (text: string) => void
  unsaved: boolean
}

export function DestinationForm({ destination, typed, onType, unsaved }: DestinationFormProps) {
  const form = useSaving({ destination, typed, onType, unsaved })
  return (
    <section className="section" aria-labelledby="change-title">
      <h2 id="change-title">
        {destination.callbackUrl ? 'Change the callback URL' : 'Set the callback URL'}
      </h2>
      <form className="grid max-w-[820px] gap-3" onSubmit={form.submit} noValidate>
        <Field
          label="Callback URL"
          hint={form.hint}
          error={form.error}
          ref={form.inputRef}
          code
          name="callbackUrl"
          inputMode="url"
          autoComplete="off"
          autoCapitalize="off"
          spellCheck={false}
          placeholder="https://hooks.your-company.com/events"
          value={typed}
          onChange={(event) => form.type(event.target.value)}
        />
        <div className="flex flex-wrap items-center gap-2.5">
          <Button
            type="submit"
            variant="primary"
            busy={form.busy}
            unavailable={unsaved ? undefined : 'No changes to save.'}
          >
            Save callback URL
          </Button>
          {unsaved && destination.callbackUrl && (
            <Button variant="quiet" onClick={form.discard}>
              Discard changes
            </Button>
          )}
          {unsaved && typed.trim() !== '' && <span className="text-[13px] text-warn">Not saved</span>}
        </div>
      </form>
    </section>
  )
}

/** Where the input is kept while it is not saved. */
export const draftKey = (vendorId: string): string => `callback-url ${vendorId}`

const HINT = (
  <>
    A public https URL without credentials in it. A random path that only you know is fine.{' '}
    <DocsLink to={DOCS.receiverNeeds}>What the receiver needs</DocsLink>
  </>
)

function useSaving({ destination, typed, onType, unsaved }: DestinationFormProps) {
  const { vendorId } = useCompany()
  const toast = useToast()
  const inputRef = useRef<HTMLInputElement>(null)
  const [tried, setTried] = useState(false)
  const [judged, setJudged] = useState('')
  const { busy, failure, run } = useSubmission(refusal)
  const check = checkUrl(typed, { whole: tried })

  function type(text: string): void {
    onType(text)
    setTried(false)
    keepDraft(draftKey(vendorId), text.trim() === (destination.callbackUrl ?? '') ? undefined : text)
  }

  function discard(): void {
    type(destination.callbackUrl ?? '')
    inputRef.current?.focus()
  }

  async function submit(event: FormEvent): Promise<void> {
    event.preventDefault()
    if (!unsaved) return
    setTried(true)
    if (checkUrl(typed, { whole: true }).state !== 'fine') return inputRef.current?.focus()
    setJudged(typed)
    const saved = await run(async () => {
      const { callbackUrl } = await saveDestination(vendorId, typed.trim())
      onType(callbackUrl ?? '')
      keepDraft(draftKey(vendorId), undefined)
      setTried(false)
      toast('Callback URL saved')
    })
    if (!saved) inputRef.current?.focus()
  }
  const refused = judged === typed && failure && complained(failure.text, failure.code)
  return {
    inputRef,
    busy,
    type,
    discard,
    submit,
    hint: check.state === 'fine' && unsaved ? 'Looks right. Its host name is looked up when you save.' : HINT,
    error: refused || (unsaved || tried ? complaint(check, tried, destination) : undefined),
  }
}

/** While someone types, only what can no longer become right; on saving, what is missing as well. */
function complaint(check: UrlCheck, tried: boolean, { callbackUrl }: CallbackDestination): ReactNode {
  if (check.state === 'wrong') return complained(check.reason, check.code)
  if (check.state !== 'empty') return undefined
  return callbackUrl || tried ? CALLBACK_URL_PROBLEMS.callback_url_empty.sentence : undefined
}

const complained = (sentence: string, code: string | undefined): ReactNode => (
  <>
    {sentence} <AboutError code={code} />
  </>
)

function refusal(error: unknown): Failure {
  const title = 'The callback URL was not saved'
  if (error instanceof Offline) return { title, text: error.message }
  if (!(error instanceof ApiProblem))
    return { title, text: 'Not saved: the service could not be reached. Try again.' }
  const [first] = error.code === 'invalid_input' ? error.errors : []
  return { title, text: `${first ? `The URL ${first.detail}.` : error.message} Nothing was changed.` }
}
