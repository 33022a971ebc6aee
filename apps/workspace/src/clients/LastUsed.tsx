import type { OAuthClient } from '../api/contract.ts'
import { Ago } from '../ui/Ago.tsx'
import { Moment } from '../ui/Moment.tsx'
import { say } from '../ui/say.ts'

type Used = Pick<OAuthClient, 'lastUsedAt' | 'usesMissingBefore'>

export const LastUsed = ({ client }: { client: Used }) =>
  client.lastUsedAt ? (
    <Ago at={client.lastUsedAt} />
  ) : (
    <span className="text-muted">{unusedWords(client)}</span>
  )

/** What is known of a client that has no recorded use. */
export const unusedWords = ({ usesMissingBefore }: Pick<OAuthClient, 'usesMissingBefore'>) =>
  usesMissingBefore ? 'No known use' : 'Never used'

/** "Last used 3 minutes ago". @param at null: no use is recorded; undefined: it cannot be read. */
export function LastUse({ client, at }: { client: Used; at: string | null | undefined }) {
  if (at === undefined) return 'Last used: –'
  if (at === null) return unusedWords(client)
  return say`Last used ${<Ago at={at} />}`
}

/** What the time of its last use cannot tell. */
export const MissingUses = ({ client: { usesMissingBefore } }: { client: OAuthClient }) =>
  usesMissingBefore && (
    <span className="text-muted">
      {' '}
      Uses up to <Moment at={usesMissingBefore} /> may be missing.
    </span>
  )
