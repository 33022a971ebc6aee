import { Code } from '../ui/Code.tsx'
import { Tabs } from '../ui/Tabs.tsx'
import { type Access, curl, envFile, go, java, node, php, python } from './snippets.ts'

/** How to use a client, ready to paste. */
export function AccessCode({ access }: { access: Access }) {
  return (
    <Tabs
      label="Ready to use"
      tabs={[
        { id: 'curl', title: 'curl', content: <Code what="curl command" text={curl(access)} /> },
        { id: 'env', title: '.env', content: <Code what=".env file" text={envFile(access)} /> },
        { id: 'node', title: 'Node', content: <Code what="Node program" text={node(access)} /> },
        { id: 'python', title: 'Python', content: <Code what="Python program" text={python(access)} /> },
        { id: 'go', title: 'Go', content: <Code what="Go program" text={go(access)} /> },
        { id: 'java', title: 'Java', content: <Code what="Java program" text={java(access)} /> },
        { id: 'php', title: 'PHP', content: <Code what="PHP program" text={php(access)} /> },
      ]}
    />
  )
}
