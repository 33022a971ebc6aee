/**
 * Where Tab goes on: a filter, or a heading of the page or of one of its sections. No field to type in: on a
 * phone its keyboard would cover what has changed.
 */
const NEXT = 'h1, :scope > h2, search :is(:checked, select)'

/**
 * Passes the focus on when what has it is removed: a button that has done its work, or a row that someone
 * else deleted. Browsers would begin again at the top of the page.
 */
export function keepFocus(): void {
  /** What has the focus, and what is around it, outward. */
  let path: Element[] = []
  const isLost = () => document.activeElement === document.body
  document.addEventListener('focusin', ({ target }) => {
    path = []
    for (let it = target as Element | null; it; it = it.parentElement) path.push(it)
  })
  const forget = () => {
    if (isLost() && path[0]?.isConnected) path = []
  }
  document.addEventListener('focusout', () => setTimeout(forget))
  const passOn = () => {
    if (!isLost() || path[0]?.isConnected !== false) return
    const around = path.filter((it) => it.isConnected)
    const [next] = around.flatMap((it) => it.querySelector<HTMLElement>(NEXT) ?? [])
    if (next?.matches('h1, h2')) next.tabIndex = -1
    next?.focus({ preventScroll: true })
  }
  new MutationObserver(() => setTimeout(passOn)).observe(document.body, { childList: true, subtree: true })
}

/** The ref of what has the focus once it is shown. */
export function takeFocus(element: HTMLElement | null): void {
  element?.focus()
}
