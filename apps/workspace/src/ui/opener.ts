/** What had the focus before a dialog took it. */
const openers = new WeakMap<Element, Element>()

/**
 * What the focus should return to when a dialog that opens now closes: not an item of a menu, which is gone by then,
 * but the menu's button; not a control of a dialog that this one follows, but what opened that.
 */
export function openerOf(): Element | null {
  const focused = document.activeElement
  const menu = focused?.closest('[role="menu"]')
  if (menu) return document.getElementById(menu.getAttribute('aria-labelledby') ?? '')
  const dialog = focused?.closest('[role="dialog"]')
  return (dialog && openers.get(dialog)) ?? focused
}

export function rememberOpener(dialog: Element, opener: Element | null): void {
  if (opener) openers.set(dialog, opener)
}

/** Focuses the opener or, when that is gone, the heading of the page: never nothing. */
export function focusAgain(opener: Element | null): void {
  const target = opener?.isConnected && opener !== document.body ? opener : document.querySelector('h1')
  if (target instanceof HTMLElement) target.focus()
}
