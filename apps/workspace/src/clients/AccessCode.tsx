import { useState } from 'react'
import { Code } from '../ui/Code.tsx'
import { DocsLink } from '../ui/DocsLink.tsx'
import { docsOfClient } from '../ui/docs.ts'
import { Tabs } from '../ui/Tabs.tsx'
import { type Access, curl, envFile, go, java, node, php, python } from './snippets.ts'

/** The documentation calls its languages by the same ids. */
const LANGUAGES = [
  { id: 'sh', title: 'curl', what: 'curl command', write: curl },
  { id: 'env', title: '.env', what: '.env file', write: envFile },
  { id: 'js', title: 'Node', what: 'Node program', write: node },
  { id: 'py', title: 'Python', what: 'Python program', write: python },
  { id: 'go', title: 'Go', what: 'Go program', write: go, onlyP256: true },
  { id: 'java', title: 'Java', what: 'Java program', write: java },
  { id: 'php', title: 'PHP', what: 'PHP program', write: php, onlyP256: true },
]

/** How to use a client, ready to paste, and where the documentation goes on with it. */
export function AccessCode({ access }: { access: Access }) {
  const [language, setLanguage] = useState('sh')
  const { credential } = access
  const p256 = 'secret' in credential || credential.algorithm === 'ES256'
  const tabs = LANGUAGES.filter(({ onlyP256 }) => p256 || !onlyP256).map(({ id, title, what, write }) => ({
    id,
    title,
    content: <Code what={what} text={write(access)} />,
  }))
  return (
    <>
      <Tabs label="Ready to use" tabs={tabs} onChoose={setLanguage} />
      <p className="small">
        <DocsLink to={docsOfClient(access, language)}>API documentation, filled in for this client</DocsLink>
      </p>
    </>
  )
}
