import type { CompanyRecord, CompanyRole, MembershipStatus } from '../../../apps/api/accounts/people.ts'

export interface DemoPerson {
  email: string
  name: string
  role: CompanyRole
  status: MembershipStatus
}

/** The pattern of a demo company's days: a typical day, and the variations. */
export interface DemoTrade {
  impressions: number
  /** The ratios of clicks to impressions, and of orders to clicks. */
  clickRate: number
  orderRate: number
  unitsPerOrder: number
  orderValueMinor: number
  /** The cost of a click on a day with paid reach. */
  boostClickCostMinor: number
  /** Monday to Sunday, where 1 is a typical day. */
  week: readonly [number, number, number, number, number, number, number]
}

export interface DemoCompany {
  company: CompanyRecord
  people: readonly DemoPerson[]
  trade: DemoTrade
}

export const ACME = 'ven_acme'

export const DEMO_COMPANIES: readonly DemoCompany[] = [
  {
    company: { vendorId: ACME, name: 'Acme Outfitters', timezone: 'Europe/Berlin', currency: 'EUR' },
    people: [
      { email: 'owner@acme.example', name: 'Olivia Brandt', role: 'owner', status: 'active' },
      { email: 'admin@acme.example', name: 'Anton Weiss', role: 'admin', status: 'active' },
      { email: 'suspended@acme.example', name: 'Selma Kurz', role: 'admin', status: 'suspended' },
      { email: 'member@acme.example', name: 'Mika Lindner', role: 'member', status: 'active' },
    ],
    trade: {
      impressions: 18_400,
      clickRate: 0.031,
      orderRate: 0.046,
      unitsPerOrder: 1.7,
      orderValueMinor: 6_840,
      boostClickCostMinor: 34,
      week: [0.92, 0.9, 0.94, 1, 1.08, 1.22, 1.16],
    },
  },
  {
    company: { vendorId: 'ven_globex', name: 'Globex Supply', timezone: 'America/New_York', currency: 'USD' },
    people: [{ email: 'owner@globex.example', name: 'Grace Holloway', role: 'owner', status: 'active' }],
    trade: {
      impressions: 7_300,
      clickRate: 0.044,
      orderRate: 0.071,
      unitsPerOrder: 3.4,
      orderValueMinor: 18_950,
      boostClickCostMinor: 52,
      week: [1.18, 1.21, 1.16, 1.1, 0.98, 0.54, 0.48],
    },
  },
]
