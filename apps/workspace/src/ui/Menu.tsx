import { DropdownMenu as Primitive } from 'radix-ui'
import type { ReactElement, ReactNode } from 'react'

const ITEM =
  'flex min-h-11 cursor-pointer items-center gap-2.5 rounded-md px-2.5 py-1.5 outline-none data-highlighted:marked sm:min-h-9.5'

export interface MenuProps {
  /** A button. */
  trigger: ReactElement
  align?: 'start' | 'end'
  children: ReactNode
}

/**
 * Not modal, because the library's scroll lock writes a style element, which the Content-Security-Policy
 * forbids. It is rendered beside its button, so that it belongs to the same landmark.
 */
export const Menu = ({ trigger, align = 'end', children }: MenuProps) => (
  <Primitive.Root modal={false}>
    <Primitive.Trigger asChild>{trigger}</Primitive.Trigger>
    <Primitive.Content
      className="z-40 max-h-(--radix-dropdown-menu-content-available-height) max-w-[min(340px,calc(100vw-44px))] min-w-52 animate-appear overflow-auto wrap-anywhere rounded-lg border border-line-strong bg-sheet p-1.5 shadow-raised"
      align={align}
      sideOffset={6}
      collisionPadding={12}
    >
      {children}
    </Primitive.Content>
  </Primitive.Root>
)

export interface MenuItemProps {
  onSelect: () => void
  danger?: boolean
  children: ReactNode
}

export const MenuItem = ({ onSelect, danger = false, children }: MenuItemProps) => (
  <Primitive.Item className={danger ? `${ITEM} text-bad` : ITEM} onSelect={onSelect}>
    <span>{children}</span>
  </Primitive.Item>
)

export const MenuLabel = ({ children }: { children: ReactNode }) => (
  <Primitive.Label className="px-2.5 pt-1.5 pb-1 text-sm text-muted">{children}</Primitive.Label>
)

export const MenuLine = () => <Primitive.Separator className="my-1.5 h-px bg-line" />

export interface MenuChoiceProps {
  value: string
  onChange: (value: string) => void
  options: readonly { value: string; label: ReactNode; icon?: ReactNode }[]
}

export function MenuChoice({ value, onChange, options }: MenuChoiceProps) {
  return (
    <Primitive.RadioGroup value={value} onValueChange={onChange}>
      {options.map((option) => (
        <Primitive.RadioItem
          key={option.value}
          className={`${ITEM} data-[state=checked]:font-strong`}
          value={option.value}
        >
          {option.icon}
          <span>{option.label}</span>
          <Primitive.ItemIndicator className="ms-auto size-2 rounded-full bg-link" />
        </Primitive.RadioItem>
      ))}
    </Primitive.RadioGroup>
  )
}
