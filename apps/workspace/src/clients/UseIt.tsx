import { Tabs } from 'radix-ui'
import type { ReactNode } from 'react'
import { useCompany } from '../api/company.ts'
import type { OAuthClient } from '../api/contract.ts'
import { Code } from '../ui/Code.tsx'
import { DocsLink } from '../ui/DocsLink.tsx'
import { DOCS } from '../ui/docs.ts'
import { Section } from '../ui/Section.tsx'
import type { Credential } from './credential.ts'
import { type ClientAccess, curl, envFile, platformFile } from './snippets.ts'

const SECRET_PLACEHOLDER = 'the-secret-that-you-saved'

export interface UseItProps {
  client: Pick<OAuthClient, 'clientId' | 'scopes' | 'keyThumbprint' | 'workload'>
  title?: ReactNode
}

/** Code that uses a client, with a placeholder for what no one can show again. */
export function UseIt({ client, title = 'Use it' }: UseItProps) {
  const { vendorId } = useCompany()
  const { clientId, scopes } = client
  const credential = choosePlaceholder(client)
  return (
    <Section className="mt-10 w-full" id="use-title" title={title}>
      <p className="text-muted">
        {credential.method === 'workload_identity' &&
          'Anyone who reads a token of the platform can use it until it expires, so never print it.'}
        {credential.method === 'client_secret' &&
          'Replace the placeholder with the secret that was saved when the client was created.'}
        {credential.method === 'private_key_jwt' && (
          <>
            The code signs with a P-256 key, the kind that is created in the browser; see{' '}
            <DocsLink to={DOCS.keyKinds}>other kinds</DocsLink>. Replace the file name with that of your
            private key.
          </>
        )}
      </p>
      <AccessCode access={{ baseUrl: location.origin, vendorId, clientId, credential, scopes }} />
    </Section>
  )
}

function choosePlaceholder({ keyThumbprint, workload }: UseItProps['client']): Credential {
  if (workload) return { method: 'workload_identity', workload }
  return keyThumbprint === null
    ? { method: 'client_secret', secret: SECRET_PLACEHOLDER }
    : { method: 'private_key_jwt', algorithm: 'ES256' }
}

/** A first call, ready to paste, and the settings that every program of the documentation reads. */
export function AccessCode({ access }: { access: ClientAccess }) {
  const { credential } = access
  const trusts = credential.method === 'workload_identity'
  const codes = trusts
    ? [platformFile(access, credential.workload)].map((file) => ({ ...file, what: file.name }))
    : [
        { name: 'curl', what: 'curl command', text: curl(access) },
        { name: '.env', what: '.env file', text: envFile(access, credential) },
      ]
  return (
    <>
      <Tabs.Root className="grid min-w-0 grid-cols-1 gap-2.5" defaultValue={codes[0]?.name ?? ''}>
        <Tabs.List
          className="flex gap-1 overflow-x-auto shadow-[inset_0_-1px_0_var(--line)] [scrollbar-width:none]"
          aria-label="Ready to use"
        >
          {codes.map(({ name }) => (
            <Tabs.Trigger
              key={name}
              className="min-h-11 cursor-pointer border-0 border-b-3 border-transparent bg-transparent px-3.5 py-2 font-medium text-ink-2 hover:text-ink data-[state=active]:border-ink data-[state=active]:text-ink data-[state=active]:outlined focus-visible:-outline-offset-2 focus-visible:shadow-none sm:min-h-0"
              value={name}
            >
              {name}
            </Tabs.Trigger>
          ))}
        </Tabs.List>
        {codes.map(({ name, what, text }) => (
          <Tabs.Content key={name} value={name} tabIndex={-1}>
            <Code what={what} text={text} />
          </Tabs.Content>
        ))}
      </Tabs.Root>
      <p className="text-sm">
        {trusts ? (
          <DocsLink standalone to={DOCS.workload}>
            Each platform, and what its tokens must have
          </DocsLink>
        ) : (
          <DocsLink standalone to={DOCS.languages}>
            Other languages, which read the .env file
          </DocsLink>
        )}
      </p>
    </>
  )
}
