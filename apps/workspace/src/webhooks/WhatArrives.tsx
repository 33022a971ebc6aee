import { useCompany } from '../shell/company.ts'
import { Code } from '../ui/Code.tsx'
import { DocsLink } from '../ui/DocsLink.tsx'
import { DOCS } from '../ui/docs.ts'
import { Tabs } from '../ui/Tabs.tsx'
import { RECEIVERS } from './receivers.ts'
import { exampleRequest } from './test-event.ts'

const EXAMPLE_URL = 'https://hooks.your-company.com/events'

/** The request that a receiver will get, and a receiver to start from. */
export function WhatArrives({ callbackUrl }: { callbackUrl: string | null }) {
  const { vendorId } = useCompany()
  return (
    <section className="section" aria-labelledby="arrives-title">
      <h2 id="arrives-title">What will arrive</h2>
      <p className="quiet prose">
        One <code>POST</code> with a JSON body. Answer with any 2xx status within 5 seconds; redirects are not
        followed. There is no signature and no retry. Treat the event as untrusted input.{' '}
        <DocsLink to={DOCS.whatArrives}>What arrives, in detail</DocsLink>
      </p>
      <Code what="request of a test event" text={exampleRequest(callbackUrl ?? EXAMPLE_URL, vendorId)} />
      <h3>A receiver in about ten lines</h3>
      <p className="quiet small prose">
        It listens on port 3000. Put it behind a proxy that serves HTTPS.{' '}
        <DocsLink to={DOCS.answerIt}>How to answer it</DocsLink>
      </p>
      <Tabs
        label="A receiver"
        tabs={RECEIVERS.map(({ id, title, text }) => ({
          id,
          title,
          content: <Code what={`receiver in ${title}`} text={text} />,
        }))}
      />
    </section>
  )
}
