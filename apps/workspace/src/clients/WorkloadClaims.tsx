import type { Workload } from './platforms.ts'

/** The issuer and the claims of a workload, as they are compared with its tokens. */
export const WorkloadClaims = ({ workload: { issuer, claims } }: { workload: Workload }) => (
  <dl className="grid grid-cols-[auto_minmax(0,1fr)] gap-x-4 gap-y-1 text-[14px] [&_code]:wrap">
    {Object.entries({ iss: issuer, ...claims }).map(([name, text]) => (
      <div key={name} className="contents">
        <dt>
          <code>{name}</code>
        </dt>
        <dd>{text ? <code>{text}</code> : <span className="quiet">not filled in yet</span>}</dd>
      </div>
    ))}
  </dl>
)
