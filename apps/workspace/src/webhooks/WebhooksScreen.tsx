import { useMutation } from '@tanstack/react-query'
import { type FormEvent, useRef } from 'react'
import { useCompany } from '../api/company.ts'
import type { CallbackDestination } from '../api/contract.ts'
import { sendCallbackUrl, useDestination } from '../api/resources.ts'
import { Page } from '../shell/Page.tsx'
import { Button } from '../ui/Button.tsx'
import { Code } from '../ui/Code.tsx'
import { DocsLink } from '../ui/DocsLink.tsx'
import { DOCS } from '../ui/docs.ts'
import { useDraft } from '../ui/draft.ts'
import { type ErrorWords, explain } from '../ui/explain.ts'
import { Field } from '../ui/Field.tsx'
import { Loaded } from '../ui/Loaded.tsx'
import { AboutError } from '../ui/Notice.tsx'
import { Section } from '../ui/Section.tsx'
import { Skeleton } from '../ui/Skeleton.tsx'
import { useToast } from '../ui/Toaster.tsx'
import { SavedDestination } from './SavedDestination.tsx'
import { TestResults } from './TestResult.tsx'
import { exampleRequest } from './test-event.ts'
import { useTestSend } from './test-send.ts'

export default function WebhooksScreen() {
  return (
    <Page
      title="Callback URL"
      section="Integrations"
      lede="One public HTTPS address that receives your company’s events. So far the only event is the test event."
    >
      <Loaded query={useDestination()} skeleton={<Skeleton lines={6} />}>
        {(destination) => <Destination destination={destination} />}
      </Loaded>
    </Page>
  )
}

function Destination({ destination }: { destination: CallbackDestination }) {
  const { vendorId, mayManage } = useCompany()
  const savedUrl = destination.callbackUrl ?? ''
  /** Undefined until another is typed: the field shows what is saved, whoever saves it. */
  const [draft, setDraft] = useDraft<string | undefined>('callback URL', undefined)
  const text = draft ?? savedUrl
  const test = useTestSend(vendorId)
  const [newest] = test.results
  const unsaved = text.trim() !== savedUrl
  return (
    <>
      <SavedDestination destination={destination} unsaved={unsaved} test={test} />
      {mayManage && (
        <DestinationForm
          destination={destination}
          draft={text}
          onType={(typed) => setDraft(typed === savedUrl ? undefined : typed)}
          onSaved={(sent) => setDraft((current) => (current === sent ? undefined : current))}
          unsaved={unsaved}
        />
      )}
      {newest && <TestResults key={newest.sentAt} results={test.results} saved={savedUrl} />}
      {newest?.outcome !== 'success' && <WhatArrives callbackUrl={destination.callbackUrl} />}
    </>
  )
}

const EXAMPLE_URL = 'https://hooks.your-company.com/events'

/** The request that a receiver will get, and a receiver to try on one's own machine. */
function WhatArrives({ callbackUrl }: Pick<CallbackDestination, 'callbackUrl'>) {
  const { vendorId } = useCompany()
  return (
    <Section id="arrives-title" title="What will arrive">
      <p className="max-w-prose text-pretty text-muted">
        One <code>POST</code> with a JSON body. Answer with any 2xx status within 5 seconds; redirects are not
        followed. There is no signature and no retry. Treat the event as untrusted input.{' '}
        <DocsLink to={DOCS.whatArrives}>What arrives, in detail</DocsLink>
      </p>
      <Code what="request of a test event" text={exampleRequest(callbackUrl ?? EXAMPLE_URL, vendorId)} />
      <h3>Try it from your machine</h3>
      <p className="max-w-prose text-pretty">
        <DocsLink to={DOCS.receiverLocally}>A receiver of ten lines</DocsLink>, and a tunnel that gives it a
        public HTTPS address for a while.
      </p>
    </Section>
  )
}

interface DestinationFormProps {
  destination: CallbackDestination
  draft: string
  onType: (text: string) => void
  onSaved: (sent: string) => void
  unsaved: boolean
}

const WORDS: ErrorWords = {
  title: 'The callback URL was not saved',
  uncertain: 'The callback URL may or may not be saved',
}

function DestinationForm({ destination, draft, onType, onSaved, unsaved }: DestinationFormProps) {
  const savedUrl = destination.callbackUrl ?? ''
  const inputRef = useRef<HTMLInputElement>(null)
  const { vendorId } = useCompany()
  const toast = useToast()
  const saving = useMutation({
    async mutationFn(text: string) {
      await sendCallbackUrl(vendorId, text.trim())
      onSaved(text)
      toast('Callback URL saved')
    },
    onError: () => inputRef.current?.focus(),
  })
  const failure = explain(saving.error, WORDS)
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (unsaved && !saving.isPending) saving.mutate(draft)
  }
  const discard = () => {
    onType(savedUrl)
    inputRef.current?.focus()
  }
  // The service has not checked another draft yet. One that turns out to be saved was not refused.
  const error = failure && unsaved && saving.variables === draft && (
    <>
      {failure.title}. {failure.text} <AboutError code={failure.code} />
    </>
  )
  return (
    <Section id="change-title" title={savedUrl ? 'Change the callback URL' : 'Set the callback URL'}>
      <form className="grid max-w-205 gap-3" onSubmit={submit} noValidate>
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
          placeholder={EXAMPLE_URL}
          value={draft}
          onChange={(event) => onType(event.target.value)}
        />
        <div className="flex flex-wrap items-center gap-2.5">
          <Button
            type="submit"
            variant="primary"
            busy={saving.isPending}
            unavailable={unsaved ? undefined : 'No changes to save.'}
          >
            Save callback URL
          </Button>
          {unsaved && savedUrl && (
            <Button variant="quiet" onClick={discard}>
              Discard changes
            </Button>
          )}
          {unsaved && draft.trim() !== '' && <span className="text-sm text-warn">Not saved</span>}
        </div>
      </form>
    </Section>
  )
}
