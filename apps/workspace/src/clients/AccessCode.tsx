import { Code } from '../ui/Code.tsx'
import { DocsLink } from '../ui/DocsLink.tsx'
import { docsOfClient } from '../ui/docs.ts'
import { Tabs } from '../ui/Tabs.tsx'
import { type Access, curl, envFile } from './snippets.ts'

/** A first call, ready to paste, and the settings that every program of the documentation reads. */
export const AccessCode = ({ access }: { access: Access }) => (
  <>
    <Tabs
      label="Ready to use"
      tabs={[
        { id: 'sh', title: 'curl', content: <Code what="curl command" text={curl(access)} /> },
        { id: 'env', title: '.env', content: <Code what=".env file" text={envFile(access)} /> },
      ]}
    />
    <p className="small">
      <DocsLink to={docsOfClient(access)}>Other languages, filled in for this client</DocsLink>
    </p>
  </>
)
