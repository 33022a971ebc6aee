import { useCompany } from '../shell/company.ts'
import { Code } from '../ui/Code.tsx'
import { DocsLink } from '../ui/DocsLink.tsx'
import { DOCS } from '../ui/docs.ts'
import { Tabs } from '../ui/Tabs.tsx'
import { RECEIVERS } from './receivers.ts'
import { curlOf, exampleRequest, payloadOf } from './test-event.ts'

const EXAMPLE_URL = 'https://hooks.your-company.com/events'
const LOCAL_URL = 'http://localhost:3000/events'

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
      <p className="quiet prose">
        One <code>POST</code> with a JSON body. Answer with any 2xx status within 5 seconds; redirects are not
        followed. There is no signature and no retry. Treat the event as untrusted input.{' '}
        <DocsLink to={DOCS.whatArrives}>What arrives, in detail</DocsLink>
      </p>
      {!tested && (
        <Code what="request of a test event" text={exampleRequest(callbackUrl ?? EXAMPLE_URL, vendorId)} />
      )}
      <h3>Try it from your machine</h3>
      <ol className="local">
        <li>
          <p>Start a receiver. It prints what arrives.</p>
          <Tabs
            label="A receiver"
            tabs={RECEIVERS.map(({ id, title, text }) => ({
              id,
              title,
              content: <Code what={`receiver in ${title}`} text={text} />,
            }))}
          />
        </li>
        <li>
          <p>Send it a test event yourself.</p>
          <Code what="local test" text={curlOf(LOCAL_URL, payloadOf(vendorId, new Date().toISOString()))} />
        </li>
        <li>
          <p>
            Give it a public HTTPS address with a tunnel, such as cloudflared or ngrok. Save that address
            above and send a test event. Anyone who learns the address reaches your receiver, so stop the
            tunnel when you are done.{' '}
            <DocsLink to={DOCS.receiverLocally}>The commands, and saving with curl</DocsLink>
          </p>
        </li>
      </ol>
    </section>
  )
}
