import { DropdownMenu as Primitive } from 'radix-ui'
import type { ReactNode } from 'react'

export interface MenuProps {
  trigger: ReactNode
  align?: 'start' | 'end'
  children: ReactNode
}

/**
 * Not modal: the library's scroll lock writes a style element, which the Content-Security-Policy forbids. It opens
 * beside its button in the document too, so that it belongs to the same landmark.
 */
export function Menu({ trigger, align = 'end', children }: MenuProps) {
  return (
    <Primitive.Root modal={false}>
      <Primitive.Trigger asChild>{trigger}</Primitive.Trigger>
      <Primitive.Content className="menu" align={align} sideOffset={6} collisionPadding={12}>
        {children}
      </Primitive.Content>
    </Primitive.Root>
  )
}

export interface MenuItemProps {
  onSelect: () => void
  icon?: ReactNode
  danger?: boolean
  children: ReactNode
}

export function MenuItem({ onSelect, icon, danger = false, children }: MenuItemProps) {
  return (
    <Primitive.Item className={danger ? 'menu-item menu-danger' : 'menu-item'} onSelect={onSelect}>
      {icon}
      <span>{children}</span>
    </Primitive.Item>
  )
}

export const MenuLabel = ({ children }: { children: ReactNode }) => (
  <Primitive.Label className="menu-label">{children}</Primitive.Label>
)

export const MenuLine = () => <Primitive.Separator className="menu-line" />

export interface MenuChoiceProps {
  value: string
  onChange: (value: string) => void
  options: readonly { value: string; label: ReactNode; icon?: ReactNode }[]
}

export function MenuChoice({ value, onChange, options }: MenuChoiceProps) {
  return (
    <Primitive.RadioGroup value={value} onValueChange={onChange}>
      {options.map((option) => (
        <Primitive.RadioItem key={option.value} className="menu-item menu-choice" value={option.value}>
          {option.icon}
          <span>{option.label}</span>
        </Primitive.RadioItem>
      ))}
    </Primitive.RadioGroup>
  )
}
