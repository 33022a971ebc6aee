import type { TestSendResult } from '../api/contract.ts'

const PHASES = [
  ['dnsMs', 'DNS lookup'],
  ['connectMs', 'Connect'],
  ['tlsMs', 'TLS'],
  ['firstByteMs', 'Wait for answer'],
] as const

const PHASE =
  'w-px pe-4 text-start font-normal whitespace-nowrap max-phone:w-[104px] max-phone:pe-2 max-phone:whitespace-normal'
const FIGURE = 'number w-px ps-4 whitespace-nowrap max-phone:ps-2'

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
    <table className="w-full max-w-[620px] border-collapse [&_td]:py-[3px]">
      <caption className="off-screen">Timings of the test</caption>
      <tbody>
        {rows.map(({ title, length, begin: start }) => (
          <tr key={title}>
            <th scope="row" className={PHASE}>
              {title}
            </th>
            <td
              className="relative min-w-20 bg-[linear-gradient(var(--line),var(--line))] bg-size-[100%_1px] bg-position-[0_50%] bg-no-repeat max-phone:min-w-8"
              aria-hidden="true"
            >
              {length !== null && (
                <span
                  className="absolute inset-y-1.5 min-w-0.5 bg-bar forced-color-adjust-none"
                  style={{
                    insetInlineStart: `${(100 * start) / whole}%`,
                    inlineSize: `${(100 * length) / whole}%`,
                  }}
                />
              )}
            </td>
            <td className={FIGURE}>{length === null ? '–' : milliseconds(length)}</td>
          </tr>
        ))}
        <tr className="[&>*]:pt-2 [&>*]:font-[620]">
          <th scope="row" className={PHASE}>
            Total
          </th>
          <td aria-hidden="true" />
          <td className={FIGURE}>{milliseconds(durationMs)}</td>
        </tr>
      </tbody>
    </table>
  )
}

const milliseconds = (ms: number): string => `${Math.round(ms).toLocaleString('en')} ms`
