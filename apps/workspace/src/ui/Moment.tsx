import { Ago } from './Ago.tsx'
import { Time, type TimeProps } from './Time.tsx'

/** "22 Nov 2026, 03:04 (3 minutes ago)", in a sentence that has room for both. */
export const Moment = ({ at, format }: Pick<TimeProps, 'at' | 'format'>) => (
  <>
    <Time at={at} {...(format && { format })} /> (<Ago at={at} />)
  </>
)
