import type { Page } from 'playwright-core'
import { EMAIL_MAX_CHARACTERS, PERSON_NAME_MAX_CHARACTERS } from '../../apps/api/accounts/names.ts'
import type { Story } from './story.ts'
import { assertFits } from './workspace.ts'

const [NAME, URL, HOST, CLAIM] = [PERSON_NAME_MAX_CHARACTERS, 2_048, 259, 255]

/** How long a text from people or strangers can be, by the member of an answer that has it. */
const LENGTHS: Record<string, number> = {
  ...{ name: NAME, ownerName: NAME, companyName: NAME, invitedBy: NAME, email: EMAIL_MAX_CHARACTERS },
  ...{ callbackUrl: URL, url: URL, issuer: 512, claims: CLAIM, keyIds: CLAIM, userAgent: 200, log: 500 },
  ...{ requestId: 64, address: 45, secretFoundSource: 200, source: 200 },
  ...{ host: HOST, subject: HOST, file: CLAIM },
}

/** Returns an answer whose texts of these kinds are as long as they can be, and end with no place to wrap. */
export function lengthened(value: unknown, most?: number): unknown {
  if (typeof value === 'string') return value.padEnd(most ?? 0, 'W')
  if (Array.isArray(value)) return value.map((item) => lengthened(item, most))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [name, lengthened(member, LENGTHS[name] ?? most)]),
  )
}

export const lengthenAnswers = (page: Page) =>
  page.route('**/v1/**', async (route) => {
    const response = await route.fetch()
    const text = await response.text()
    await route.fulfill({ response, body: text && JSON.stringify(lengthened(JSON.parse(text))) })
  })

/** Asserts that these fit a phone with such texts: each an address, and what is pressed there. */
export async function assertLongTextsFit({ page, open, press }: Story, places: string[][]): Promise<void> {
  await page.setViewportSize({ width: 320, height: 740 })
  const over = page.getByRole('dialog').or(page.getByRole('menu'))
  for (const [path = '', ...controls] of places) {
    await page.keyboard.press('Escape')
    await over.waitFor({ state: 'detached' })
    await open(path)
    for (const name of controls) await press(new RegExp(`^${name}`))
    const place = (await over.count()) > 0 ? over.last() : page.locator('main')
    await place.getByText(/W{20}/).filter({ visible: true }).first().waitFor()
    await assertFits(page, [path, ...controls].join(', '))
  }
}
