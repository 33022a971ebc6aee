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
    <section
      className="grid justify-items-start gap-6 border-y border-line py-8"
      aria-labelledby="first-title"
    >
      <h2 id="first-title">No clients yet</h2>
      <ol className="grid w-full grid-cols-[repeat(auto-fit,minmax(220px,1fr))] gap-x-8 gap-y-5">
        {STEPS.map(({ title, text, docs }, step) => (
          <li key={title} className="grid content-start gap-1 border-t-3 border-ink pt-3.5">
            <span className="font-mono text-ink-3" aria-hidden="true">
              {step + 1}
            </span>
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
