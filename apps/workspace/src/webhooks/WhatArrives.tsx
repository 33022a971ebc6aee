import { useCompany } from '../api/company.ts'
import { Code } from '../ui/Code.tsx'
import { DocsLink } from '../ui/DocsLink.tsx'
import { DOCS } from '../ui/docs.ts'
import { exampleRequest } from './test-event.ts'

const EXAMPLE_URL = 'https://hooks.your-company.com/events'

export interface WhatArrivesProps {
  callbackUrl: string | null
  /** Whether the page shows a request that was sent: the example of one would only differ in its time. */
  tested: boolean
}

/** The request that a receiver will get, and a receiver to try on one's own machine. */
export function WhatArrives({ callbackUrl, tested }: WhatArrivesProps) {
  const { vendorId } = useCompany()
  return (
    <section className="section" aria-labelledby="arrives-title">
      <h2 id="arrives-title">What will arrive</h2>
      <p className="prose quiet">
        One <code>POST</code> with a JSON body. Answer with any 2xx status within 5 seconds; redirects are not
        followed. There is no signature and no retry. Treat the event as untrusted input.{' '}
        <DocsLink to={DOCS.whatArrives}>What arrives, in detail</DocsLink>
      </p>
      {!tested && (
        <Code what="request of a test event" text={exampleRequest(callbackUrl ?? EXAMPLE_URL, vendorId)} />
      )}
      <h3>Try it from your machine</h3>
      <p className="prose">
        <DocsLink to={DOCS.receiverLocally}>A receiver of ten lines</DocsLink>, and a tunnel that gives it a
        public HTTPS address for a while.
      </p>
    </section>
  )
}
