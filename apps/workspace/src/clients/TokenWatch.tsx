import type { OAuthClient } from '../api/contract.ts'
import { Ago } from '../ui/Ago.tsx'
import { clock, minutes } from '../ui/time.ts'
import { type Progress, QUIET_S } from './rotation.ts'

/** Which of the two clients asks for tokens, as it happens. */
export function TokenWatch({
  old,
  replacement,
  progress,
}: {
  old: OAuthClient
  replacement: OAuthClient
  progress: Progress
}) {
  const { quietSeconds, replacementUsed, step } = progress
  const share = quietSeconds === undefined ? 1 : Math.min(1, quietSeconds / QUIET_S)
  return (
    <div className="lanes">
      <Lane
        place="Replacement"
        client={replacement}
        tone={replacementUsed ? 'good' : 'idle'}
        said={replacementUsed ? 'Asks for tokens' : 'Waiting for its first token request'}
      />
      <Lane
        place="Old"
        client={old}
        tone={old.status === 'Revoked' ? 'off' : share === 1 ? 'idle' : 'warn'}
        said={
          old.status === 'Revoked'
            ? 'Revoked'
            : quietSeconds === undefined
              ? 'Never asked for a token'
              : share === 1
                ? 'No longer asks for tokens'
                : `Quiet for ${minutes(quietSeconds)} of 15:00`
        }
      />
      {old.status === 'Active' && (
        <div className="quiet-time">
          <progress
            value={share}
            max={1}
            aria-label="How long the old client has been quiet, of 15 minutes"
          />
          <p className="small quiet">
            A token lasts 15 minutes, so a system that runs all the time asks again within that. A job that
            runs once a day or a week may still hold the old secret: check those yourself.
          </p>
        </div>
      )}
      <p className="off-screen" role="status">
        {step === 'revoke' ? 'The replacement is in use and the old client is quiet.' : ''}
      </p>
    </div>
  )
}

interface LaneProps {
  place: string
  client: OAuthClient
  tone: 'good' | 'warn' | 'idle' | 'off'
  said: string
}

function Lane({ place, client, tone, said }: LaneProps) {
  return (
    <section className={`lane lane-${tone}`} aria-label={`${place}: ${client.name}`}>
      <p className="lane-role">{place}</p>
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
          <dd>
            {client.lastUsedAt ? (
              <>
                {clock(new Date(client.lastUsedAt))}{' '}
                <span className="quiet">
                  (<Ago at={client.lastUsedAt} />)
                </span>
              </>
            ) : (
              'none yet'
            )}
          </dd>
        </div>
        <div>
          <dt>Tokens, 24 h</dt>
          <dd>{client.tokensIssued24h.toLocaleString('en')}</dd>
        </div>
      </dl>
    </section>
  )
}
