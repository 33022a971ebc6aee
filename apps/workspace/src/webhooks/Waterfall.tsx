import type { TestSendResult } from '../api/contract.ts'

const PHASES = [
  ['dnsMs', 'DNS lookup'],
  ['connectMs', 'Connect'],
  ['tlsMs', 'TLS'],
  ['firstByteMs', 'Wait for answer'],
] as const

/** Where the time of a test went: one bar a phase, each beginning where the one before it ended. */
export function Waterfall({ result: { timings, durationMs } }: { result: TestSendResult }) {
  let begin = 0
  const rows = PHASES.map(([phase, title]) => {
    const length = timings[phase]
    const row = { title, length, begin }
    begin += length ?? 0
    return row
  })
  const whole = Math.max(durationMs, begin, 1)
  return (
    <table className="waterfall">
      <caption className="off-screen">Timings of the test</caption>
      <tbody>
        {rows.map(({ title, length, begin: start }) => (
          <tr key={title}>
            <th scope="row">{title}</th>
            <td className="waterfall-track" aria-hidden="true">
              {length !== null && (
                <span
                  className="waterfall-bar"
                  style={{
                    insetInlineStart: `${(100 * start) / whole}%`,
                    inlineSize: `${(100 * length) / whole}%`,
                  }}
                />
              )}
            </td>
            <td className="number">{length === null ? '–' : milliseconds(length)}</td>
          </tr>
        ))}
        <tr className="waterfall-whole">
          <th scope="row">Total</th>
          <td aria-hidden="true" />
          <td className="number">{milliseconds(durationMs)}</td>
        </tr>
      </tbody>
    </table>
  )
}

const milliseconds = (ms: number): string => `${Math.round(ms).toLocaleString('en')} ms`
