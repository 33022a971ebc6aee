import { Code } from '../ui/Code.tsx'
import { Tabs } from '../ui/Tabs.tsx'
import { type Access, curl, envFile, node, python } from './snippets.ts'

/** How to use a client, ready to paste, in four ways. */
export function AccessCode({ access }: { access: Access }) {
  return (
    <Tabs
      label="Ready to use"
      tabs={[
        { id: 'curl', title: 'curl', content: <Code what="curl command" text={curl(access)} /> },
        { id: 'env', title: '.env', content: <Code what=".env file" text={envFile(access)} /> },
        { id: 'node', title: 'Node', content: <Code what="Node program" text={node(access)} /> },
        { id: 'python', title: 'Python', content: <Code what="Python program" text={python(access)} /> },
      ]}
    />
  )
}
