import { Tabs } from 'radix-ui'
import type { ReactNode } from 'react'
import { useCompany } from '../api/company.ts'
import type { OAuthClient } from '../api/contract.ts'
import { Code } from '../ui/CopyButton.tsx'
import { DocsLink } from '../ui/DocsLink.tsx'
import { DOCS, docsOfClient } from '../ui/docs.ts'
import { type Access, curl, envFile } from './snippets.ts'

const SECRET_PLACEHOLDER = 'the-secret-that-you-saved'

export interface UseItProps {
  client: Pick<OAuthClient, 'clientId' | 'scopes' | 'keyThumbprint'>
  title?: ReactNode
}

/** Code that uses a client, with a placeholder for what no one can show again. */
export function UseIt({ client: { clientId, scopes, keyThumbprint }, title = 'Use it' }: UseItProps) {
  const { vendorId } = useCompany()
  const keyed = keyThumbprint !== null
  const credential: Access['credential'] = keyed
    ? { keyFile: `${clientId}.pem`, algorithm: 'ES256' }
    : { secret: SECRET_PLACEHOLDER }
  return (
    <section className="section" aria-labelledby="use-title">
      <h2 id="use-title">{title}</h2>
      <p className="quiet">
        {keyed ? (
          <>
            The code signs with a P-256 key, the kind that is created in the browser; see{' '}
            <DocsLink to={DOCS.privateKey}>other kinds</DocsLink>. Replace the file name with that of your
            private key.
          </>
        ) : (
          'Replace the placeholder with the secret that was saved when the client was created.'
        )}{' '}
        Lost or exposed? Rotate it: create a replacement, deploy it, then revoke this client.
      </p>
      <AccessCode access={{ baseUrl: location.origin, vendorId, clientId, credential, scopes }} />
    </section>
  )
}

const TAB = [
  'cursor-pointer border-0 border-b-[3px] border-transparent bg-transparent px-3.5 py-2 font-[580] text-ink-2',
  'hover:text-ink data-[state=active]:border-ink data-[state=active]:text-ink data-[state=active]:outlined',
].join(' ')

/** A first call, ready to paste, and the settings that every program of the documentation reads. */
export const AccessCode = ({ access }: { access: Access }) => (
  <>
    <Tabs.Root className="grid min-w-0 grid-cols-[minmax(0,1fr)] gap-2.5" defaultValue="curl">
      <Tabs.List
        className="flex gap-1 overflow-x-auto shadow-[inset_0_-1px_0_var(--line)] [scrollbar-width:none]"
        aria-label="Ready to use"
      >
        <Tabs.Trigger className={TAB} value="curl">
          curl
        </Tabs.Trigger>
        <Tabs.Trigger className={TAB} value="env">
          .env
        </Tabs.Trigger>
      </Tabs.List>
      <Tabs.Content value="curl" tabIndex={-1}>
        <Code what="curl command" text={curl(access)} />
      </Tabs.Content>
      <Tabs.Content value="env" tabIndex={-1}>
        <Code what=".env file" text={envFile(access)} />
      </Tabs.Content>
    </Tabs.Root>
    <p className="small">
      <DocsLink to={docsOfClient(access)}>Other languages, filled in for this client</DocsLink>
    </p>
  </>
)
