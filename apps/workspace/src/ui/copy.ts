/**
 * Puts text on the clipboard.
 * @param near an element inside the dialog in front, if there is one: focus may not leave it.
 * Returns whether that succeeded.
 */
export async function copyText(text: string, near: HTMLElement): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text)
    return true
  } catch {
    return copyBySelection(text, near)
  }
}

/** The clipboard API is missing outside secure contexts, such as plain HTTP on another machine. */
function copyBySelection(text: string, near: HTMLElement): boolean {
  const area = document.createElement('textarea')
  area.value = text
  area.className = 'off-screen'
  area.setAttribute('aria-hidden', 'true')
  near.parentElement?.append(area)
  area.select()
  const copied = document.execCommand('copy')
  area.remove()
  near.focus()
  return copied
}
