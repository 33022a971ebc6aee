import { createContext, useContext } from 'react'
import type { Company, Role } from './contract.ts'
import { pathTo, type Screen } from './screens.ts'
import { BROWSER_CLOCK, createClock, type WallClock } from './time.ts'

export interface CurrentCompany extends Company {
  /** The owner, and admins who are not suspended. */
  mayManage: boolean
  /** Those who may manage, and viewers who are not suspended. */
  mayView: boolean
  /** Shows the times of the company's zone. */
  clock: WallClock
  maySee(screen: Screen): boolean
  /** The address of a screen of this company. */
  to(screen: Screen, id?: string): string
}

export const CompanyContext = createContext<CurrentCompany | undefined>(undefined)

/** The company in the address, with the signed-in person's role in it. */
export function useCompany(): CurrentCompany {
  const company = useContext(CompanyContext)
  if (!company) throw new Error('shown outside a company')
  return company
}

/** The clock of the company in the address, or of the browser outside a company. */
export const useClock = (): WallClock => useContext(CompanyContext)?.clock ?? BROWSER_CLOCK

export function currentCompany(company: Company): CurrentCompany {
  const isActive = company.status === 'active'
  const mayManage = isActive && (company.role === 'owner' || company.role === 'admin')
  const mayView = mayManage || (isActive && company.role === 'viewer')
  return {
    ...company,
    mayManage,
    mayView,
    clock: createClock(company.timezone),
    maySee: (screen) => (MANAGERS_ONLY.includes(screen) ? mayManage : mayView),
    to: (screen, id) => pathTo(company.vendorId, screen, id),
  }
}

/** Screens whose routes refuse a viewer. */
const MANAGERS_ONLY: readonly Screen[] = ['activity', 'people']

export const ROLE_NAMES: Record<Role, string> = {
  owner: 'Owner',
  admin: 'Admin',
  viewer: 'Viewer',
  member: 'Member',
}

/** A person's place in a company, as shown. */
export const roleName = ({ role, status }: Pick<Company, 'role' | 'status'>): string =>
  status === 'suspended' ? `${ROLE_NAMES[role]}, suspended` : ROLE_NAMES[role]
