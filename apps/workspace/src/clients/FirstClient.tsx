import { Button } from '../ui/Button.tsx'
import { PlusIcon } from '../ui/icons.tsx'

const STEPS = [
  ['Create a client', 'Name it and choose its scopes. You get an id and a secret, which is shown only once.'],
  [
    'Trade the secret for a token',
    'Your system requests one from the token endpoint. A token lasts 15 minutes.',
  ],
  ['Call the API with it', 'Read your daily analytics, or whatever else its scopes allow.'],
] as const

/** What there is before the first client. */
export function FirstClient({ onCreate }: { onCreate: () => void }) {
  return (
    <section className="first" aria-labelledby="first-title">
      <h2 id="first-title">No clients yet</h2>
      <ol className="first-steps">
        {STEPS.map(([title, text]) => (
          <li key={title}>
            <span className="strong">{title}</span>
            <span className="quiet">{text}</span>
          </li>
        ))}
      </ol>
      <Button variant="primary" icon={<PlusIcon />} onClick={onCreate}>
        Create the first client
      </Button>
    </section>
  )
}
