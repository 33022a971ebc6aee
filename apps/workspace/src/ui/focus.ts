/**
 * Where Tab goes on: the first link or button of a row, a filter, or a heading of the page or of one of its
 * sections. No field to type in: on a phone its keyboard would cover what has changed.
 */
const NEXT = 'h1, :scope > h2, search :is(:checked, select), :scope > :is(th, td) :is(a, button)'

/** Returns an element and what is around it, outward, with the rows beside its row. */
export function surroundings(element: Element | null): Element[] {
  if (!element) return []
  const beside = element.matches('tr') ? [element.nextElementSibling, element.previousElementSibling] : []
  return [element, ...beside.filter((it) => it !== null), ...surroundings(element.parentElement)]
}

const isLost = () => document.activeElement === document.body

/** Focuses the nearest of what is left of these surroundings, if nothing has the focus. */
export function focusNearest(path: readonly Element[]): void {
  if (!isLost()) return
  const around = path.filter((it) => it.isConnected)
  const [next] = around.flatMap((it) => it.querySelector<HTMLElement>(NEXT) ?? [])
  if (next?.matches('h1, h2')) next.tabIndex = -1
  next?.focus({ preventScroll: true })
}

/**
 * Passes the focus on when what has it is removed: a button that has done its work, or a row that someone
 * else deleted. Browsers would begin again at the top of the page.
 */
export function keepFocus(): void {
  let path: Element[] = []
  document.addEventListener('focusin', ({ target }) => {
    path = surroundings(target as Element)
  })
  const forget = () => {
    if (isLost() && path[0]?.isConnected) path = []
  }
  document.addEventListener('focusout', () => setTimeout(forget))
  const passOn = () => {
    // A dialog that has closed gives the focus back itself.
    if (path.some((it) => it.matches('[role="dialog"]') && !it.isConnected)) return
    if (path[0]?.isConnected === false) focusNearest(path)
  }
  new MutationObserver(() => setTimeout(passOn)).observe(document.body, { childList: true, subtree: true })
}

/** The ref of what has the focus once it is shown. */
export const takeFocus = (element: HTMLElement | null): void => element?.focus()
