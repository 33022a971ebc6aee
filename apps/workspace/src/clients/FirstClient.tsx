import { Button } from '../ui/Button.tsx'
import { DocsLink } from '../ui/DocsLink.tsx'
import { DOCS } from '../ui/docs.ts'
import { PlusIcon } from '../ui/icons.tsx'

const STEPS = [
  {
    title: 'Create a client',
    text: 'Name it and choose its scopes. You get an id and a secret or a private key, offered only once.',
    docs: undefined,
  },
  {
    title: 'Get a token with it',
    text: 'Your system requests one from the token endpoint. A token lasts 15 minutes.',
    docs: { to: DOCS.token, label: 'How to get a token' },
  },
  {
    title: 'Call the API with it',
    text: 'Report what your shop sells, and read it again as daily analytics.',
    docs: { to: DOCS.events, label: 'How to report events' },
  },
] as const

/** What there is before the first client. */
export function FirstClient({ onCreate }: { onCreate: () => void }) {
  return (
    <section className="first" aria-labelledby="first-title">
      <h2 id="first-title">No clients yet</h2>
      <ol className="first-steps">
        {STEPS.map(({ title, text, docs }) => (
          <li key={title}>
            <span className="strong">{title}</span>
            <span className="quiet">
              {text} {docs && <DocsLink to={docs.to}>{docs.label}</DocsLink>}
            </span>
          </li>
        ))}
      </ol>
      <Button variant="primary" icon={<PlusIcon />} onClick={onCreate}>
        Create the first client
      </Button>
    </section>
  )
}
