import { useClock } from '../api/company.ts'
import { useTimed } from './now.ts'
import { Time, type TimeProps } from './Time.tsx'

/** "3 minutes ago". Pointing at it shows the exact time, and who did it. */
export function Ago(props: Pick<TimeProps, 'at' | 'by'>) {
  const { relative } = useClock()
  const date = new Date(props.at)
  // The text, not the time: a row is drawn again when it says something else, not once a second.
  const text = useTimed((now) => relative(date, now))
  return <Time {...props}>{text}</Time>
}
