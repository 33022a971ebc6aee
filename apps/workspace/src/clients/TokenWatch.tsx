import type { ClientRotation, OAuthClient } from '../api/contract.ts'
import { dateTime } from '../api/time.ts'
import { useUsage } from '../api/usage.ts'
import { useCompany } from '../shell/company.ts'
import { Ago, useNow } from '../ui/Ago.tsx'
import { LaneHistory, type LaneHistoryProps } from './LaneHistory.tsx'
import { type Said, STATE_WORDS, sentenceOf } from './rotation-words.ts'

const HISTORY_MS = 10_000

export interface TokenWatchProps {
  old: OAuthClient
  replacement: OAuthClient
  rotation: ClientRotation
}

/** Which of the two clients gets tokens, as it happens. */
export function TokenWatch({ old, replacement, rotation }: TokenWatchProps) {
  const { vendorId } = useCompany()
  const now = useNow()
  const before = useUsage(vendorId, old.clientId, HISTORY_MS).data
  const after = useUsage(vendorId, replacement.clientId, HISTORY_MS).data
  const words = STATE_WORDS[rotation.state]
  return (
    <div className="lanes">
      <Lane place="Replacement" client={replacement} said={words.replacement} usage={after} other={before} />
      <Lane place="Old" client={old} said={words.old} usage={before} other={after} />
      {rotation.evidenceSince && (
        <p className="small quiet lanes-limits">
          Judged by the uses of the old client since {dateTime(new Date(rotation.evidenceSince))}. Several
          machines behind one address count as one, so check those yourself.
        </p>
      )}
      <p className="off-screen" role="status">
        {rotation.state === 'safe' ? sentenceOf(rotation, now) : ''}
      </p>
    </div>
  )
}

interface LaneProps extends LaneHistoryProps {
  place: string
  client: OAuthClient
  said: Said | undefined
}

function Lane({ place, client, said, usage, other }: LaneProps) {
  const words = said ?? { tone: 'idle', said: client.status }
  return (
    <section className={`lane tone-${words.tone}`} aria-label={`${place}: ${client.name}`}>
      <p className="small quiet">{place}</p>
      <p className="lane-name">
        <bdi>{client.name}</bdi>
      </p>
      <p className="lane-said">
        <span className="watch-dot" aria-hidden="true" />
        {words.said}
      </p>
      <dl className="lane-facts">
        <div>
          <dt>Last token</dt>
          <dd>{client.lastUsedAt ? <Ago at={client.lastUsedAt} /> : 'none yet'}</dd>
        </div>
        <div>
          <dt>Tokens, 24 h</dt>
          <dd>{client.tokensIssued24h.toLocaleString('en')}</dd>
        </div>
      </dl>
      <LaneHistory usage={usage} other={other} />
    </section>
  )
}
