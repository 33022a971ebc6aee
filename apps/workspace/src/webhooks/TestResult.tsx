import type { TestSendResult } from '../api/contract.ts'
import { Ago } from '../ui/Ago.tsx'
import { Code } from '../ui/Code.tsx'
import { day, relative } from '../ui/time.ts'
import { Waterfall } from './Waterfall.tsx'

const OUTCOMES = {
  success: { tone: 'good', title: 'Your receiver took it' },
  receiver_failure: { tone: 'bad', title: 'Your receiver answered, but not with success' },
  unconfirmed: { tone: 'warn', title: 'No answer: it may not have arrived' },
} as const

export interface TestResultProps {
  result: TestSendResult
  vendorId: string
  /** The destination that is saved now, which may be another than was tested. */
  saved: string
}

export function TestResult({ result, vendorId, saved }: TestResultProps) {
  const { tone, title } = OUTCOMES[result.outcome]
  const payload = JSON.stringify({ type: 'test_event', vendorId, sentAt: result.sentAt })
  return (
    <section className="section result" aria-labelledby="result-title">
      <h2 id="result-title">Last test</h2>
      <div className={`outcome outcome-${tone}`} role="status">
        <p className="outcome-status">{result.status ?? '—'}</p>
        <div>
          <p className="outcome-title">{title}</p>
          <p>{result.advice}</p>
        </div>
      </div>
      {result.url !== saved && (
        <p className="small quiet">
          This test went to <code className="wrap">{result.url}</code>, which is no longer the saved
          destination.
        </p>
      )}
      <dl className="sheet">
        <div>
          <dt>Sent</dt>
          <dd>
            <Ago at={result.sentAt} />
          </dd>
        </div>
        <div>
          <dt>Delivered</dt>
          <dd>
            {result.delivered
              ? `Yes: the receiver answered with status ${result.status}`
              : 'Not confirmed: no valid answer came'}
          </dd>
        </div>
        <div>
          <dt>Receiver</dt>
          <dd>{result.receiver ? <code>{result.receiver.address}</code> : 'Nothing was connected to'}</dd>
        </div>
        <div>
          <dt>Certificate</dt>
          <dd>
            <Certificate expiresAt={result.receiver?.certificateExpiresAt ?? null} />
          </dd>
        </div>
        <div>
          <dt>Timing</dt>
          <dd>
            <Waterfall result={result} />
          </dd>
        </div>
      </dl>
      <h3>Log</h3>
      <Code what="receiver log" text={result.log.join('\n') || 'Nothing was logged.'} />
      <h3>What was sent</h3>
      <Code what="payload" text={payload} />
      <h3>The same by hand</h3>
      <Code what="curl command" text={curlOf(result.url, payload)} />
    </section>
  )
}

const SOON_MS = 21 * 86_400_000

function Certificate({ expiresAt }: { expiresAt: string | null }) {
  if (!expiresAt) return <>Not seen</>
  const date = new Date(expiresAt)
  const now = new Date()
  const left_ms = date.getTime() - now.getTime()
  const tone = left_ms < 0 ? 'bad' : left_ms < SOON_MS ? 'warn' : 'active'
  return (
    <span className={`status status-${tone}`}>
      {left_ms < 0 ? 'Expired' : 'Valid until'} {day(date)}, {relative(date, now)}
    </span>
  )
}

const curlOf = (url: string, payload: string): string =>
  `curl -i -X POST ${quoted(url)} \\
  -H 'Content-Type: application/json' \\
  -d ${quoted(payload)}`

/** One word for a POSIX shell, whatever is in it. */
const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`
