import { DropdownMenu as Primitive } from 'radix-ui'
import {
  type ButtonHTMLAttributes,
  cloneElement,
  type KeyboardEvent,
  type ReactElement,
  type ReactNode,
  useEffect,
  useRef,
  useState,
} from 'react'

export interface MenuProps {
  /** A button. */
  trigger: ReactElement<ButtonHTMLAttributes<HTMLButtonElement>>
  align?: 'start' | 'end'
  children: ReactNode
}

/** Until it is first opened it is its button alone: a table has one in each row. */
export function Menu(props: MenuProps) {
  const [opened, setOpened] = useState<'by pointer' | 'by keyboard'>()
  if (opened) return <OpenedMenu {...props} byKeyboard={opened === 'by keyboard'} />
  return cloneElement(props.trigger, {
    'aria-haspopup': 'menu',
    'aria-expanded': false,
    // A press of a key clicks no times.
    onClick: ({ detail }) => setOpened(detail === 0 ? 'by keyboard' : 'by pointer'),
    onKeyDown(event: KeyboardEvent) {
      if (event.key !== 'ArrowDown') return
      event.preventDefault()
      setOpened('by keyboard')
    },
  })
}

/**
 * Not modal: the library's scroll lock writes a style element, which the Content-Security-Policy forbids. It opens
 * beside its button in the document too, so that it belongs to the same landmark.
 */
function OpenedMenu({ trigger, align = 'end', children, byKeyboard }: MenuProps & { byKeyboard: boolean }) {
  const content = useRef<HTMLDivElement>(null)
  useEffect(() => {
    // The key was pressed before the library could see it.
    if (byKeyboard) content.current?.querySelector<HTMLElement>('[role^="menuitem"]')?.focus()
  }, [byKeyboard])
  return (
    <Primitive.Root modal={false} defaultOpen>
      <Primitive.Trigger asChild>{trigger}</Primitive.Trigger>
      <Primitive.Content ref={content} className="menu" align={align} sideOffset={6} collisionPadding={12}>
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
