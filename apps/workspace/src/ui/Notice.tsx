import type { ReactNode } from 'react'
import { AlertIcon, CheckIcon, InfoIcon } from './icons.tsx'

export type Tone = 'info' | 'good' | 'warn' | 'bad'

export interface NoticeProps {
  tone: Tone
  title: ReactNode
  children?: ReactNode
  actions?: ReactNode
  /** Read out when it appears. */
  live?: boolean
}

export function Notice({ tone, title, children, actions, live = false }: NoticeProps) {
  const Icon = tone === 'good' ? CheckIcon : tone === 'info' ? InfoIcon : AlertIcon
  return (
    <div className={`notice tone-${tone}`} role={live ? (tone === 'bad' ? 'alert' : 'status') : undefined}>
      <Icon />
      <div className="notice-text">
        <p className="notice-title">{title}</p>
        {children && <div className="notice-body">{children}</div>}
      </div>
      {actions && <div className="notice-actions">{actions}</div>}
    </div>
  )
}
