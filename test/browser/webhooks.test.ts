import { strict as assert } from 'node:assert'
import { saveMembership } from '../../apps/api/accounts/people.ts'
import type { Resolution } from '../../apps/api/guarded-fetch/resolver.ts'
import { createResolution, TEST_INTERNET } from '../api/callbacks/sending.ts'
import type { TestPerson } from '../support/api.ts'
import { forBlock } from '../support/block.ts'
import { eventually } from '../support/eventually.ts'
import { startOwnWorkspace } from '../support/own-workspace.ts'
import { type Receiver, startHttpsReceiver, startTlsReceiver } from '../support/receivers.ts'
import { assertAccessible, assertLooksRight, type Visit, visit } from '../support/workspace.ts'

describe('workspace: Integrations, Webhooks', () => {
  let tab: Visit
  let vendorId: string
  let person: TestPerson
  let resolution: Resolution
  const receivers: Receiver[] = []
  // This API may be told to take receivers on loopback for public ones.
  const own = forBlock(() =>
    startOwnWorkspace(() => ({ internet: { ...TEST_INTERNET, resolve: async () => resolution } })),
  )
  after(() => Promise.all(receivers.map((receiver) => receiver.stop())))
  beforeEach(async () => {
    resolution = createResolution('127.0.0.1')
    vendorId = (await own.service.createCompany()).vendorId
    person = await own.service.createPerson({ vendorId })
    const { baseUrl } = own
    const path = `/${vendorId}/integrations/webhooks`
    tab = await visit({ baseUrl, sessionToken: person.sessionToken, path })
  })

  const field = () => tab.page.getByRole('textbox', { name: 'Callback URL' })
  const saved = () => tab.page.getByRole('region', { name: 'Saved callback URL' })
  const button = (name: string) => tab.page.getByRole('button', { name })
  async function save(url: string): Promise<void> {
    await field().fill(url)
    await button('Save callback URL').click()
  }
  async function saveReceiver(starting: Promise<Receiver>): Promise<Receiver> {
    const receiver = await starting
    receivers.push(receiver)
    await save(receiver.url)
    await saved().getByText(receiver.url).waitFor()
    return receiver
  }

  it('sends a test event to the saved destination while another is typed, and keeps the result on the page', async () => {
    let event = ''
    const { url } = await saveReceiver(
      startHttpsReceiver(async (request, response) => {
        for await (const chunk of request) event += chunk
        response.end('thank <b>you</b>\u001b[31m')
      }),
    )
    await field().fill('https://typed.acme.com/')
    await button('Send test event').click()
    const result = tab.page.getByRole('region', { name: 'Last test' })
    await saved().getByText('Delivered: your receiver answered 200').waitFor()
    await result.getByText(/^Valid until/).waitFor()
    await saved().getByRole('link', { name: 'Details' }).press('Enter')
    await result.locator('h2:focus').waitFor()
    assert.deepEqual({ ...JSON.parse(event), sentAt: '' }, { type: 'test_event', vendorId, sentAt: '' })
    assert.ok((await result.getByRole('region', { name: 'receiver log' }).innerText()).includes('thank'))
    assert.equal(await result.locator('b').count(), 0)
    await tab.page.getByRole('link', { name: 'Activity' }).click()
    await tab.page.getByText('saved the callback URL at').waitFor()
    await tab.page.getByRole('link', { name: 'Callback URL' }).click()
    await result.getByText('200, accepted', { exact: true }).waitFor()
    assert.equal(await tab.page.getByRole('heading', { name: 'What will arrive' }).count(), 0)
    assert.equal(await field().inputValue(), url)
    await assertLooksRight(tab.page)
    // Another company of the same person has its own.
    const other = await own.service.createCompany()
    const membership = { ...other, userId: person.userId, role: 'viewer', status: 'active' } as const
    await saveMembership(own.service.db, membership)
    await tab.page.evaluate(() => new BroadcastChannel('session').postMessage('signed in'))
    await tab.page.getByTitle('Choose another company').click()
    assert.equal(await tab.page.getByRole('menuitemradio', { name: /Viewer$/ }).count(), 1)
    await tab.page.getByRole('menuitemradio', { checked: false }).click()
    await saved().getByText('None yet.').waitFor()
    assert.equal(await result.count(), 0)
  })

  it('shows what will arrive before the first test event, and no result of a destination that was saved again since', async () => {
    const requests: string[] = []
    let status = 500
    const { url } = await saveReceiver(
      startHttpsReceiver(({ method, url, headers }, response) => {
        const fields = Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
        requests.push(`${method} ${url} HTTP/1.1`, ...fields)
        response.writeHead(status).end()
      }),
    )
    const example = await tab.page.getByRole('region', { name: 'request of a test event' }).innerText()
    await button('Send test event').click()
    await saved().getByText('Your receiver failed (500)').waitFor()
    const [head = ''] = example.split('\n\n')
    for (const line of head.split('\n'))
      assert.ok(requests.includes(line.replace(/^[\w-]+:/, (name) => name.toLowerCase())), line)
    status = 204
    await button('Send test event').click()
    await saved().getByText('Delivered: your receiver answered 204').waitFor()
    await assertLooksRight(tab.page)
    const closed = await saveReceiver(startTlsReceiver({ talk: (socket) => socket.destroy() }))
    await tab.page.getByText('which is no longer the saved callback URL').waitFor()
    assert.equal(await saved().getByText('answered 204').count(), 0)
    // Saved again, it may have other addresses than were tested.
    own.service.clock.advance(1_000)
    await save(url)
    await saved().getByText(url).waitFor()
    assert.equal(await saved().getByText('answered 204').count(), 0)
    await save(closed.url)
    await saved().getByText(closed.url).waitFor()
    await button('Send test event').click()
    await saved().getByText('No answer: the event may not have arrived').waitFor()
    await tab.page.getByText('No valid answer came').waitFor()
    await assertAccessible(tab.page)
  })

  it('says that a test event is being sent, does not send it twice, and shows the result where a phone shows the button', async () => {
    await tab.page.setViewportSize({ width: 390, height: 844 })
    let answer: (() => void) | undefined
    const slow = await saveReceiver(
      startHttpsReceiver((_request, response) => {
        answer = () => response.end()
      }),
    )
    await button('Send test event').click()
    await saved().getByText('Sending and waiting for your receiver').waitFor()
    assert.equal(await button('Send test event').getAttribute('aria-busy'), 'true')
    await button('Send test event').click({ force: true })
    await eventually(() => answer !== undefined, { otherwise: () => 'nothing was sent' })
    answer?.()
    const verdict = saved().getByText('Delivered: your receiver answered 200')
    await verdict.waitFor()
    // It may be scrolled to once it is there.
    let place = ''
    const isInView = async () => {
      const box = await verdict.boundingBox()
      place = `at ${box?.y}, scrolled by ${await tab.page.evaluate(() => window.scrollY)}`
      return box !== null && box.y + box.height < 844 - 60
    }
    await eventually(isInView, { otherwise: () => place })
    assert.equal(slow.connections, 1)
    await tab.page.route('**/callback-test', () => {})
    await button('Send test event').click()
    await saved().getByText('Sending and waiting for your receiver').waitFor()
    assert.equal(await verdict.count(), 0)
  })
})
