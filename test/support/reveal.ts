import { strict as assert } from 'node:assert'
import type { Locator, Page } from 'playwright-core'

/** Opens the dialog for a new client, and fills in its name and scopes. */
export async function fillClient(page: Page, name: string, ...scopes: string[]): Promise<Locator> {
  await page.getByRole('button', { name: 'Create client' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Name').fill(name)
  for (const scope of scopes) await dialog.getByRole('checkbox', { name: scope }).check()
  return dialog
}

export const submitClient = (page: Page): Promise<void> =>
  page.getByRole('dialog').getByRole('button', { name: 'Create client' }).click()

/** A new client's id, secret and curl command, copied from the dialog to the clipboard as a person does. */
export async function readReveal(
  page: Page,
): Promise<{ clientId: string; clientSecret: string; curl: string }> {
  const dialog = page.getByRole('dialog')
  const copied = async (name: string) => {
    await dialog.getByRole('button', { name }).click()
    return page.evaluate(() => navigator.clipboard.readText())
  }
  await dialog.getByText('Client secret').waitFor()
  const clientId = await copied('Copy client id')
  const clientSecret = await copied('Copy client secret')
  const curl = await copied('Copy curl command')
  assert.match(clientId, /^cli_/)
  return { clientId, clientSecret, curl }
}

/** Confirms that the secret is saved, and closes the dialog. */
export async function closeReveal(page: Page): Promise<void> {
  const dialog = page.getByRole('dialog')
  await dialog.getByRole('checkbox', { name: 'I have saved the secret' }).check()
  await dialog.getByRole('button', { name: 'Done' }).click()
  await dialog.waitFor({ state: 'detached' })
}
