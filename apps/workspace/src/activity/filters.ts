import { midnight } from '../api/midnight.ts'
import type { ActivityQuery } from '../api/resources.ts'
import { daysLater, isDay } from '../api/time.ts'
import type { SearchShape } from '../ui/search.ts'
import { ACTIONS } from './actions.ts'

export type Filters = Record<'person' | 'kind' | 'client' | 'from' | 'to', string>

export const NO_FILTERS: Filters = { person: '', kind: '', client: '', from: '', to: '' }

const isAction = (text: string): text is keyof typeof ACTIONS => Object.hasOwn(ACTIONS, text)

/** The filters in the address. Empty text matches all. `from` and `to` are the company's days, inclusive. */
export const FILTERS: SearchShape<Filters> = {
  defaults: NO_FILTERS,
  accepts: {
    person: (text) => /^(?:usr_[A-Za-z0-9]{1,60}|operator)$/.test(text),
    kind: isAction,
    client: (text) => /^cli_[A-Za-z0-9]{22}$/.test(text),
    from: isDay,
    to: isDay,
  },
}

/** @param zone of the company. */
export function toActivityQuery({ person, kind, client, from, to }: Filters, zone: string): ActivityQuery {
  return {
    ...(person && { userId: person }),
    ...(isAction(kind) && { action: kind }),
    ...(client && { clientId: client }),
    ...(from && { from: midnight(from, zone).toISOString() }),
    ...(to && { to: midnight(daysLater(to, 1), zone).toISOString() }),
  }
}
