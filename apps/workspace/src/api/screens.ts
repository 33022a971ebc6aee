/** The screens of a company: the rest of their paths. `id` is a client's or a request's. */
export const SCREENS = {
  clients: 'integrations/oauth2-clients',
  client: 'integrations/oauth2-clients/:id',
  rotation: 'integrations/oauth2-clients/:id/rotate',
  webhooks: 'integrations/webhooks',
  analytics: 'analytics',
  activity: 'activity',
  people: 'people',
  explain: 'explain/:id?',
} as const

export type Screen = keyof typeof SCREENS

/** Returns the address of a screen. */
export const pathTo = (vendorId: string, screen: Screen, id?: string): string =>
  `/${encodeURIComponent(vendorId)}/${SCREENS[screen].replace(/\/:id\??/, id ? `/${encodeURIComponent(id)}` : '')}`

/** Returns the screen of the navigation that an address is, or is a part of. */
export function screenAt(address: string): Screen | undefined {
  const path = `${address.split('/').slice(2).join('/')}/`
  return (Object.keys(SCREENS) as Screen[]).find((name) =>
    path.startsWith(`${SCREENS[name].split('/:')[0]}/`),
  )
}
