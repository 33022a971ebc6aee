import { actorName } from '#shared/rules/actors.ts'
import { useCompany } from '../api/company.ts'
import type { CallbackDestination, TestSendResult } from '../api/contract.ts'
import { Ago } from '../ui/Ago.tsx'
import { Button } from '../ui/Button.tsx'
import { Copyable } from '../ui/CopyButton.tsx'
import { DocsLink } from '../ui/DocsLink.tsx'
import { DOCS } from '../ui/docs.ts'
import { SendIcon } from '../ui/icons.tsx'
import { FailureNotice, TONE_GROUNDS, TONES } from '../ui/Notice.tsx'
import { Section } from '../ui/Section.tsx'
import { StatusText } from '../ui/StatusText.tsx'
import { say } from '../ui/say.ts'
import { type TestSend, testVerdict } from './test-send.ts'

export interface SavedDestinationProps {
  destination: CallbackDestination
  /** Something else is typed below, and not saved. */
  unsaved: boolean
  test: TestSend
}

/** What is in force: the only address that a test goes to. */
export function SavedDestination({ destination, unsaved, test }: SavedDestinationProps) {
  const { mayManage } = useCompany()
  const { callbackUrl, updatedAt } = destination
  // A test of an earlier URL says nothing about this one.
  const newest = test.results.find(({ url, sentAt }) => url === callbackUrl && sentAt >= (updatedAt ?? ''))
  return (
    <Section
      className="border border-s-4 border-line border-s-mark bg-sheet px-6 pt-5.5 pb-6 max-sm:p-4"
      id="saved-title"
      title="Saved callback URL"
    >
      {callbackUrl ? (
        <p className="text-lg wrap-anywhere">
          <Copyable text={callbackUrl} what="saved callback URL" />
        </p>
      ) : (
        <p className="text-ink-2">None yet.{mayManage && ' Save one below to test it.'}</p>
      )}
      {callbackUrl && <Facts destination={destination} tested={newest !== undefined} />}
      {mayManage && (
        <div className="flex flex-wrap items-center gap-x-4 gap-y-2 pt-1">
          <Button
            icon={<SendIcon />}
            busy={test.isPending}
            unavailable={callbackUrl ? undefined : 'Save a callback URL first.'}
            onClick={test.send}
          >
            Send test event
          </Button>
          <p className="text-sm text-muted" role="status">
            {test.isPending
              ? 'Sending and waiting for your receiver: at most 10 seconds'
              : unsaved &&
                callbackUrl && (
                  <strong className="inline-block bg-mark px-2 py-0.75 font-medium text-mark-ink forced-colors:border-2 forced-colors:border-[Highlight]">
                    Goes to the saved callback URL, not to your unsaved edit.
                  </strong>
                )}
          </p>
        </div>
      )}
      {newest && !test.isPending && !test.failure && <Outcome result={newest} />}
      <FailureNotice failure={test.failure} />
    </Section>
  )
}

interface FactsProps {
  destination: CallbackDestination
  /** A test of it is newer than what was found on saving. */
  tested: boolean
}

function Facts({ destination: { verified, updatedAt, updatedBy }, tested }: FactsProps) {
  const { mayManage } = useCompany()
  return (
    <p className="text-sm flex flex-wrap gap-x-5 gap-y-1">
      {!tested && !verified && (
        <StatusText tone="warn">
          Its name did not resolve when it was saved.{mayManage && ' Send a test to check it now.'}
        </StatusText>
      )}
      {updatedAt && (
        <span className="text-muted">
          Saved <Ago at={updatedAt} />
          {updatedBy && say` by ${actorName(updatedBy)}`}
        </span>
      )}
    </p>
  )
}

/** Directly under the button, where the eye is. */
function Outcome({ result }: { result: TestSendResult }) {
  const { tone, title } = testVerdict(result)
  return (
    <div
      className={`flex items-center gap-5 rounded-xs px-5 py-4 max-sm:gap-3.5 max-sm:p-3.5 ${TONE_GROUNDS[tone]}`}
      role="status"
    >
      <p
        className={`${TONES[tone]} font-mono text-3xl leading-none font-strong tracking-tight max-sm:text-2xl`}
      >
        {result.status ?? '—'}
      </p>
      <div>
        <p className={`font-strong ${TONES[tone]}`}>{title}</p>
        {tone !== 'good' && <p>{result.advice}</p>}
        <p className="flex flex-wrap items-baseline gap-x-4.5 text-sm">
          <a className="touch" href="#result-title">
            Details
          </a>{' '}
          <DocsLink standalone to={DOCS.testResult}>
            What each result means
          </DocsLink>
        </p>
      </div>
    </div>
  )
}
