import { type FormEvent, useRef, useState } from 'react'
import { useCompany } from '../api/company.ts'
import type { CallbackDestination } from '../api/contract.ts'
import { saveDestination } from '../api/resources.ts'
import { Button } from '../ui/Button.tsx'
import { DocsLink } from '../ui/DocsLink.tsx'
import { DOCS } from '../ui/docs.ts'
import { Field } from '../ui/Field.tsx'
import { AboutError } from '../ui/Notice.tsx'
import { useSubmission } from '../ui/submit.ts'
import { useToast } from '../ui/Toaster.tsx'

export interface DestinationFormProps {
  destination: CallbackDestination
  typed: string
  onType: (text: string) => void
  unsaved: boolean
}

export function DestinationForm({ destination, typed, onType, unsaved }: DestinationFormProps) {
  const { inputRef, isPending, error, discard, submit } = useSaving({ destination, typed, onType, unsaved })
  return (
    <section className="section" aria-labelledby="change-title">
      <h2 id="change-title">
        {destination.callbackUrl ? 'Change the callback URL' : 'Set the callback URL'}
      </h2>
      <form className="grid max-w-[820px] gap-3" onSubmit={submit} noValidate>
        <Field
          label="Callback URL"
          hint={
            <>
              A public https URL without credentials in it. A random path that only you know is fine.{' '}
              <DocsLink to={DOCS.receiverNeeds}>What the receiver needs</DocsLink>
            </>
          }
          error={error}
          ref={inputRef}
          code
          name="callbackUrl"
          inputMode="url"
          autoComplete="off"
          autoCapitalize="off"
          spellCheck={false}
          placeholder="https://hooks.your-company.com/events"
          value={typed}
          onChange={(event) => onType(event.target.value)}
        />
        <div className="flex flex-wrap items-center gap-2.5">
          <Button
            type="submit"
            variant="primary"
            busy={isPending}
            unavailable={unsaved ? undefined : 'No changes to save.'}
          >
            Save callback URL
          </Button>
          {unsaved && destination.callbackUrl && (
            <Button variant="quiet" onClick={discard}>
              Discard changes
            </Button>
          )}
          {unsaved && typed.trim() !== '' && <span className="text-[13px] text-warn">Not saved</span>}
        </div>
      </form>
    </section>
  )
}

function useSaving({ destination, typed, onType, unsaved }: DestinationFormProps) {
  const { vendorId } = useCompany()
  const toast = useToast()
  const inputRef = useRef<HTMLInputElement>(null)
  const [sent, setSent] = useState('')
  const title = 'The callback URL was not saved'
  const { isPending, failure, run } = useSubmission({
    title,
    noAnswer: { title, text: 'Not saved: the service could not be reached. Try again.' },
  })

  function discard(): void {
    onType(destination.callbackUrl ?? '')
    inputRef.current?.focus()
  }

  async function submit(event: FormEvent): Promise<void> {
    event.preventDefault()
    if (!unsaved) return
    setSent(typed)
    const saved = await run(async () => {
      const { callbackUrl } = await saveDestination(vendorId, typed.trim())
      onType(callbackUrl ?? '')
      toast('Callback URL saved')
    })
    if (!saved) inputRef.current?.focus()
  }
  // What is typed now has not been judged yet.
  const error = failure && sent === typed && (
    <>
      {failure.text} <AboutError code={failure.code} />
    </>
  )
  return { inputRef, isPending, error, discard, submit }
}
