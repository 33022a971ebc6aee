import type { CallbackDestination, TestSendResult } from '../api/contract.ts'
import { Ago, useNow } from '../ui/Ago.tsx'
import { Button } from '../ui/Button.tsx'
import { CopyButton } from '../ui/CopyButton.tsx'
import { DocsLink } from '../ui/DocsLink.tsx'
import { DOCS } from '../ui/docs.ts'
import { FailureNotice } from '../ui/FailureNotice.tsx'
import { SendIcon } from '../ui/icons.tsx'
import { verdictOf } from './outcome.ts'
import type { TestSend } from './test-send.ts'

export interface SavedDestinationProps {
  destination: CallbackDestination
  /** Something else is typed below, and not saved. */
  unsaved: boolean
  test: TestSend
}

/** What is in force: the only address that a test goes to. */
export function SavedDestination({ destination, unsaved, test }: SavedDestinationProps) {
  const { callbackUrl } = destination
  const [newest] = test.results
  return (
    <section className="section section-first saved" aria-labelledby="saved-title">
      <h2 id="saved-title">Saved callback URL</h2>
      {callbackUrl ? (
        <Url url={callbackUrl} />
      ) : (
        <p className="saved-none">None yet. Save one below to test it.</p>
      )}
      {callbackUrl && <Facts destination={destination} newest={newest} />}
      <div className="saved-test">
        <Button
          icon={<SendIcon />}
          busy={test.startedAt !== undefined}
          unavailable={callbackUrl ? undefined : 'Save a callback URL first.'}
          onClick={() => void test.send()}
        >
          Send test event
        </Button>
        <p className="small quiet" role="status">
          {test.startedAt !== undefined ? (
            <Sending startedAt={test.startedAt} />
          ) : unsaved && callbackUrl ? (
            <strong className="saved-unsaved">
              Goes to the saved callback URL, not to your unsaved edit.
            </strong>
          ) : (
            'Sends one POST. No retries, no signature.'
          )}
        </p>
      </div>
      {newest && test.startedAt === undefined && !test.failure && <Outcome result={newest} />}
      <FailureNotice failure={test.failure} />
    </section>
  )
}

function Url({ url }: { url: string }) {
  const { host } = new URL(url)
  const [before, after] = [url.slice(0, url.indexOf(host)), url.slice(url.indexOf(host) + host.length)]
  return (
    <p className="saved-url">
      <code>
        <span className="quiet">{before}</span>
        <span className="saved-host">{host}</span>
        <span className="quiet">{after}</span>
      </code>
      <CopyButton text={url} what="saved callback URL" />
    </p>
  )
}

interface FactsProps {
  destination: CallbackDestination
  /** What it shows of the name is newer than what was found on saving. */
  newest: TestSendResult | undefined
}

function Facts({ destination: { callbackUrl, verified, updatedAt, updatedBy }, newest }: FactsProps) {
  const resolved = verified || (newest?.url === callbackUrl && newest.receiver !== null)
  return (
    <p className="saved-facts small">
      {resolved ? (
        <span className="status status-active">Resolves to public addresses</span>
      ) : (
        <span className="status status-warn">
          Its name did not resolve when it was saved. Send a test to check it now.
        </span>
      )}
      {updatedAt && (
        <span className="quiet">
          Saved <Ago at={updatedAt} />
          {updatedBy && (
            <>
              {' '}
              by <bdi>{updatedBy.name}</bdi>
            </>
          )}
        </span>
      )}
    </p>
  )
}

/** Directly under the button, where the eye is. */
function Outcome({ result }: { result: TestSendResult }) {
  const { tone, title } = verdictOf(result)
  return (
    <div className={`outcome tone-${tone}`} role="status">
      <p className="outcome-status">{result.status ?? '—'}</p>
      <div>
        <p className="outcome-title">{title}</p>
        {tone !== 'good' && <p>{result.advice}</p>}
        <p className="small outcome-more">
          <a href="#result-title">Details</a> <DocsLink to={DOCS.testResult}>What each result means</DocsLink>
        </p>
      </div>
    </div>
  )
}

function Sending({ startedAt }: { startedAt: number }) {
  const seconds = Math.max(0, Math.floor((useNow().getTime() - startedAt) / 1000))
  return (
    <>
      Sending and waiting for your receiver<span aria-hidden="true">: {seconds} of at most 10 seconds</span>
    </>
  )
}
