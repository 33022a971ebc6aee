import type { Page } from 'playwright-core'

/** Returns what a dialog or a menu says to a screen reader; if none is open, the page without its bars. */
export async function readWords(page: Page): Promise<string> {
  const over = page.getByRole('dialog').or(page.getByRole('menu'))
  const place = (await over.count()) > 0 ? over.last() : page.getByRole('main')
  return place.ariaSnapshot()
}
