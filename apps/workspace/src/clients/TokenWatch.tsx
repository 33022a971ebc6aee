import type { ClientUsage, OAuthClient } from '../api/contract.ts'
import { duration } from '../api/time.ts'
import { Ago } from '../ui/Ago.tsx'
import { LaneHistory, type LaneHistoryProps } from './LaneHistory.tsx'
import { type Progress, TOKEN_LIFE_S } from './rotation.ts'

/** What the two clients did; undefined while it loads. */
export interface Histories {
  old: ClientUsage | undefined
  replacement: ClientUsage | undefined
}

export interface TokenWatchProps {
  old: OAuthClient
  replacement: OAuthClient
  progress: Progress
  histories: Histories
}

/** Which of the two clients asks for tokens, as it happens. */
export function TokenWatch({ old, replacement, progress, histories }: TokenWatchProps) {
  const replacements = { usage: histories.replacement, other: histories.old }
  const olds = { usage: histories.old, other: histories.replacement }
  return (
    <div className="lanes">
      <Lane place="Replacement" client={replacement} {...replacementLane(progress)} {...replacements} />
      <Lane place="Old" client={old} {...oldLane(old, progress)} {...olds} />
      {old.status === 'Active' && progress.old.use !== 'none' && <QuietTime old={progress.old} />}
      <p className="off-screen" role="status">
        {progress.step === 'revoke' ? 'The replacement is in use and the old client is quiet.' : ''}
      </p>
    </div>
  )
}

type Said = Pick<LaneProps, 'tone' | 'said'>

function replacementLane({ replacement: { use, seconds } }: Progress): Said {
  if (use === 'none') return { tone: 'waiting', said: 'No token request yet' }
  if (use === 'trial') return { tone: 'waiting', said: 'Only a trial so far' }
  if (use === 'asking' && seconds < TOKEN_LIFE_S) return { tone: 'good', said: 'Asks for tokens' }
  return { tone: use === 'silent' ? 'warn' : 'idle', said: `Silent for ${duration(seconds)}` }
}

function oldLane(old: OAuthClient, { old: { use, seconds } }: Progress): Said {
  if (old.status === 'Revoked') return { tone: 'idle', said: 'Revoked' }
  if (use === 'none') return { tone: 'idle', said: 'Never asked for a token' }
  if (use === 'asking') return { tone: 'warn', said: 'In use now' }
  return { tone: use === 'quiet' ? 'idle' : 'warn', said: `Quiet for ${duration(seconds)}` }
}

function QuietTime({ old: { use, seconds, pause_s } }: Pick<Progress, 'old'>) {
  return (
    <div className="quiet-time">
      <progress
        value={use === 'asking' ? 0 : Math.min(1, seconds / pause_s)}
        max={1}
        aria-label={`How long the old client has been quiet, of ${duration(pause_s)}`}
      />
      <p className="small quiet">
        {use === 'quiet'
          ? `Quiet for longer than it usually pauses.`
          : `Quiet means no token request for about ${duration(pause_s)}, judged by its last 24 hours.`}{' '}
        A job that runs less than once a week may still use the old client: check those yourself.
      </p>
    </div>
  )
}

interface LaneProps extends LaneHistoryProps {
  place: string
  client: OAuthClient
  tone: 'good' | 'warn' | 'waiting' | 'idle'
  said: string
}

function Lane({ place, client, tone, said, usage, other }: LaneProps) {
  return (
    <section className={`lane tone-${tone}`} aria-label={`${place}: ${client.name}`}>
      <p className="small quiet">{place}</p>
      <p className="lane-name">
        <bdi>{client.name}</bdi>
      </p>
      <p className="lane-said">
        <span className="watch-dot" aria-hidden="true" />
        {said}
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
