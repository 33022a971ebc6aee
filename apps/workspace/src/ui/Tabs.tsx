import { Tabs as Primitive } from 'radix-ui'
import type { ReactNode } from 'react'

export interface TabsProps {
  label: string
  tabs: readonly { id: string; title: string; content: ReactNode }[]
}

export function Tabs({ label, tabs }: TabsProps) {
  return (
    <Primitive.Root className="tabs" defaultValue={tabs[0]?.id ?? ''}>
      <Primitive.List className="tabs-list" aria-label={label}>
        {tabs.map(({ id, title }) => (
          <Primitive.Trigger key={id} className="tabs-tab" value={id}>
            {title}
          </Primitive.Trigger>
        ))}
      </Primitive.List>
      {tabs.map(({ id, content }) => (
        <Primitive.Content key={id} className="tabs-panel" value={id} tabIndex={-1}>
          {content}
        </Primitive.Content>
      ))}
    </Primitive.Root>
  )
}
