import { Link, useLocation } from 'wouter'
import { useClient } from '../api/clients.ts'
import { useCompany } from '../api/company.ts'
import type { ExplainedRequest } from '../api/contract.ts'
import { requestIdIn } from '../api/request-id.ts'
import { lookUpAgain, useExplainedRequest } from '../api/resources.ts'
import { Page } from '../shell/Page.tsx'
import { Bullets } from '../ui/Bullets.tsx'
import { Button } from '../ui/Button.tsx'
import { Field } from '../ui/Field.tsx'
import { Loaded } from '../ui/Loaded.tsx'
import { Notice } from '../ui/Notice.tsx'
import { Section } from '../ui/Section.tsx'
import { Skeleton } from '../ui/Skeleton.tsx'
import { say } from '../ui/say.ts'
import { useForm } from '../ui/sent-form.ts'
import { groupAlike, RequestTable } from './Requests.tsx'

/** Takes the id of a request and says why it was refused, and what to do. */
export default function ExplainScreen({ requestId }: { requestId: string | undefined }) {
  const { to } = useCompany()
  return (
    <Page
      title="Explain a refusal"
      back={{ to: to('clients'), label: 'OAuth2 Clients' }}
      lede="Why a request from one of your clients was refused in the last 24 hours, and what to do about it."
    >
      <RequestIdForm requestId={requestId} />
      {requestId !== undefined && <Explanation requestId={requestId} />}
    </Page>
  )
}

function RequestIdForm({ requestId }: { requestId: string | undefined }) {
  const { vendorId, to } = useCompany()
  const [, navigate] = useLocation()
  const form = useForm<'requestId'>({
    words: { title: 'This request was not looked up' },
    check: ({ requestId: text }) => ({
      requestId: !requestIdIn(text) && 'Paste a request id, such as the value of X-Request-Id.',
    }),
    async send({ requestId: text }) {
      const id = requestIdIn(text) ?? ''
      if (id === requestId) await lookUpAgain(vendorId, id)
      else navigate(to('explain', id))
    },
  })
  return (
    <form
      className="flex max-w-180 flex-wrap items-start gap-x-2.5 gap-y-1"
      onSubmit={form.submit}
      noValidate
    >
      <Field
        className="grow basis-80"
        label="Request id"
        hint="Every response has it in its X-Request-Id header; errors of the API also have it as requestId."
        error={form.errors.requestId}
        code
        name="requestId"
        autoComplete="off"
        spellCheck={false}
        defaultValue={requestId}
      />
      <Button type="submit" variant="primary" className="w-full sm:mt-7 sm:min-h-10.5 sm:w-auto">
        Explain
      </Button>
    </form>
  )
}

function Explanation({ requestId }: { requestId: string }) {
  const query = useExplainedRequest(requestId)
  return (
    <Section
      className="mt-5"
      id="explanation-title"
      title={query.data ? describeOutcome(query.data) : 'This request'}
      aria-live="polite"
    >
      <Loaded
        query={query}
        skeleton={<Skeleton lines={3} />}
        missing={<Unknown onTryAgain={query.refetch} />}
      >
        {(request) => <Explained request={request} />}
      </Loaded>
    </Section>
  )
}

function describeOutcome({ status, reason }: ExplainedRequest): string {
  if (reason !== null) return 'Why it was refused'
  if (status < 400) return 'This request was granted'
  return status < 500
    ? 'This request was refused, but the reason is no longer known'
    : 'We answered this request with an error'
}

function Explained({ request }: { request: ExplainedRequest }) {
  const { to } = useCompany()
  const client = useClient(request.clientId).data
  return (
    <>
      <p>
        A request from{' '}
        <Link href={to('client', request.clientId)}>
          {client ? <bdi>{client.name}</bdi> : <code>{request.clientId}</code>}
        </Link>
        .{request.status >= 500 && ' The fault was ours: send the request again.'}
      </p>
      <RequestTable rows={groupAlike([request])} />
    </>
  )
}

function Unknown({ onTryAgain }: { onTryAgain: () => unknown }) {
  const { name } = useCompany()
  return (
    <Notice
      tone="info"
      title={say`No request with this id on record in ${name}`}
      live
      actions={<Button onClick={() => void onTryAgain()}>Try again</Button>}
    >
      <Bullets className="mt-1.5">
        <li>A request can be looked up from about two seconds after the answer.</li>
        <li>
          For each client, at most the last 200 requests are kept, and for 24 hours the last 50 that anyone
          could have sent, such as those with a wrong secret.
        </li>
        <li>
          The client must be one of your company’s. Tokens we did not sign cannot be traced to a client.
        </li>
      </Bullets>
    </Notice>
  )
}
