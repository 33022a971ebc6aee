import { useState } from 'react'
import type { TestSendResult } from '../api/contract.ts'
import { Ago } from '../ui/Ago.tsx'
import { Code } from '../ui/Code.tsx'
import { Fact } from '../ui/Fact.tsx'
import { Moment } from '../ui/Moment.tsx'
import { TONES } from '../ui/Notice.tsx'
import { Section } from '../ui/Section.tsx'
import { say } from '../ui/say.ts'
import { Time } from '../ui/Time.tsx'
import { testVerdict } from './test-send.ts'

export interface TestResultsProps {
  /** Newest first, at least one. */
  results: readonly TestSendResult[]
  /** The destination that is saved now, which may be another than was tested. */
  saved: string
}

/** The tests of this visit, and the details of one of them, at first the newest. */
export function TestResults({ results, saved }: TestResultsProps) {
  const [current, setCurrent] = useState(results[0] as TestSendResult)
  return (
    <Section
      id="result-title"
      title={
        current === results[0] ? 'Last test' : say`Test at ${<Time at={current.sentAt} format="timeOfDay" />}`
      }
    >
      {results.length > 1 && <Tests results={results} current={current} onChoose={setCurrent} />}
      <Details result={current} saved={saved} />
    </Section>
  )
}

interface TestsProps {
  results: readonly TestSendResult[]
  current: TestSendResult
  onChoose: (result: TestSendResult) => void
}

function Tests({ results, current, onChoose }: TestsProps) {
  return (
    <ol
      className="grid divide-y divide-line border-y border-line border-t-line-strong"
      aria-label="Tests of this visit, newest first"
    >
      {results.map((result) => {
        const { tone, title } = testVerdict(result)
        return (
          <li key={result.sentAt}>
            <button
              type="button"
              className="grid min-h-11 w-full cursor-pointer grid-cols-[auto_3ch_minmax(0,1fr)_auto] gap-x-4 gap-y-1 border-0 bg-transparent px-2.5 py-2 text-start hover:not-aria-pressed:bg-sunk aria-pressed:marked"
              aria-pressed={result === current}
              onClick={() => onChoose(result)}
            >
              <span className="font-mono text-sm text-muted">
                <Time at={result.sentAt} format="timeOfDay" />
              </span>
              <span className={`font-mono font-strong ${TONES[tone]}`}>{result.status ?? '–'}</span>
              <span>{title}</span>
              <span className="font-mono text-sm text-muted">{milliseconds(result.durationMs)}</span>
            </button>
          </li>
        )
      })}
    </ol>
  )
}

function Details({ result, saved }: { result: TestSendResult; saved: string }) {
  const { sent } = testVerdict(result)
  return (
    <>
      {result.url !== saved && (
        <p className="text-sm text-muted">
          This test used <code className="wrap-anywhere">{result.url}</code>, which is no longer the saved
          callback URL.
        </p>
      )}
      <dl>
        <Fact name={sent ? 'Sent' : 'Tried'}>
          <Ago at={result.sentAt} />
        </Fact>
        <Fact name="Answer">{describeAnswer(result, sent)}</Fact>
        <Fact name="Receiver">
          {result.receiver ? <code>{result.receiver.address}</code> : 'No connection made'}
        </Fact>
        {result.receiver?.certificateExpiresAt && (
          <Fact name="Certificate">
            Valid until <Moment at={result.receiver.certificateExpiresAt} format="day" />
          </Fact>
        )}
        <Fact name="Timing">{describeTiming(result)}</Fact>
      </dl>
      <h3 className="mt-2.5">Log</h3>
      <Code what="receiver log" text={result.log.join('\n') || 'Nothing was logged.'} />
    </>
  )
}

function describeAnswer({ outcome, status }: TestSendResult, sent: boolean): string {
  if (status !== null) return `${status}, ${outcome === 'success' ? 'accepted' : 'not accepted'}`
  return sent ? 'No valid answer came' : 'None: nothing was sent'
}

const PHASES = [
  ['dnsMs', 'DNS lookup'],
  ['connectMs', 'connect'],
  ['tlsMs', 'TLS'],
  ['firstByteMs', 'wait for the answer'],
] as const

/** Where the time of a test went, as far as it got. */
function describeTiming({ timings, durationMs }: TestSendResult): string {
  const phases = PHASES.flatMap(([phase, title]) => {
    const ms = timings[phase]
    return ms === null ? [] : [`${title} ${milliseconds(ms)}`]
  })
  return [phases.join(', '), `${milliseconds(durationMs)} in total.`].filter(Boolean).join('. ')
}

const milliseconds = (ms: number): string => `${Math.round(ms).toLocaleString('en')} ms`
