import type { Locator } from 'playwright-core'
import type { TestApiOptions } from './api.ts'
import { forBlock } from './block.ts'
import type { TestClock } from './clock.ts'
import { startOwnWorkspace } from './own-workspace.ts'
import { type Difference, recordedTexts } from './recorded.ts'
import { changesOf, readDetails, readLook, readStep, wordsOf } from './words.ts'
import { carrySession, type Visit, type VisitOptions, visit } from './workspace.ts'

/** When stories happen: on a Wednesday in summer, before any time that a run of the tests can have. */
export const STORY_TIME = '2025-06-18T10:20:30.000Z'

/** The company of stories. */
export const ACME = {
  vendorId: 'ven_acme',
  name: 'Acme Outfitters',
  timezone: 'Europe/Berlin',
  currency: 'EUR',
}

const PEOPLE = {
  owner: { userId: 'usr_olivia', name: 'Olivia Brandt', email: 'olivia@acme.example' },
  admin: { userId: 'usr_anton', name: 'Anton Weiss', email: 'anton@acme.example' },
  viewer: { userId: 'usr_vera', name: 'Vera Lindt', email: 'vera@acme.example' },
  member: { userId: 'usr_mika', name: 'Mika Sato', email: 'mika@acme.example' },
} as const

export type StoryRole = keyof typeof PEOPLE
export type StoryWorkspace = Awaited<ReturnType<typeof startStoryWorkspace>>

/** Acme alone, with a person of each role. All clocks stand still at STORY_TIME, also that of revocations. */
async function startStoryWorkspace(options: TestApiOptions) {
  const { service, ...own } = await startOwnWorkspace(() => ({ startsAt: STORY_TIME, ...options }))
  await service.db.raw(
    `create or replace function stamp_client_revocation() returns trigger language plpgsql as
     $$ begin new.revoked_at := '${STORY_TIME}'; return new; end $$`,
  )
  await service.createCompany(ACME)
  const add = (role: StoryRole) => service.createPerson({ vendorId: ACME.vendorId, role, ...PEOPLE[role] })
  const people = {
    owner: await add('owner'),
    admin: await add('admin'),
    viewer: await add('viewer'),
    member: await add('member'),
  }
  return { ...own, service, people }
}

const CONTROLS = [
  'button',
  'link',
  'menuitem',
  'menuitemradio',
  'radio',
  'checkbox',
  'tab',
  'option',
] as const

const placeIn = (text: string): string => /^- (?:main|dialog|menu)/m.exec(text)?.[0] ?? ''

/** What a person does and meets. */
export type Story = ReturnType<typeof createStory>

export interface StoryOptions {
  /** What is different in each run. */
  differences?: Difference[]
  /** Of the service. */
  api?: TestApiOptions
  /** Stores what the stories are about. */
  prepare?: (own: StoryWorkspace) => unknown
}

/** Stories of a file, in a workspace that lasts as long as their block. `file` has what is recorded. */
export function recordedStories(file: URL, { differences = [], api = {}, prepare }: StoryOptions = {}) {
  const { eventuallyRecorded } = recordedTexts(file, [[/(?<=localhost:)\d+/g, 'PORT'], ...differences])
  const own = forBlock(async () => {
    const workspace = await startStoryWorkspace(api)
    await prepare?.(workspace)
    return workspace
  })

  /**
   * Returns a test, whose title is the story's. Signs in a person of this role, or the owner of a company
   * that is new, for a story that changes something.
   */
  const story = (
    { role, company, ...options }: VisitOptions & { role?: StoryRole; company?: string },
    tell: (story: Story) => Promise<void>,
  ) =>
    async function (this: Mocha.Context): Promise<void> {
      const { baseUrl, people, service } = own
      service.clock.set(STORY_TIME)
      const person = company ? await service.createOwner({ vendorId: company }) : role && people[role]
      const sessionToken = person?.sessionToken ?? ''
      const visited = await visit({ baseUrl, at: STORY_TIME, sessionToken, ...options })
      const record = (name: string, read: () => Promise<string>) =>
        eventuallyRecorded(`${this.test?.title}: ${name}`, read, visited.isIdle)
      await tell(createStory(visited, service.clock, record))
    }
  return { own, story }
}

type Recorder = (name: string, read: () => Promise<string>) => Promise<void>

function createStory({ page, baseUrl }: Visit, clock: TestClock, record: Recorder) {
  /** By what is open: the page that a dialog was over is compared with what it was before. */
  const last = new Map<string, string>()
  /** Compares anything that is read: recorded is what differs from the step before. */
  async function compare(name: string, read: () => Promise<string>): Promise<void> {
    let text = ''
    await record(name, async () => {
      text = await read().catch(String)
      return changesOf(last.get(placeIn(text)) ?? '', text)
    })
    last.set(placeIn(text), text)
  }
  /** Does something, and compares what the page says then. */
  async function step(name: string, act?: () => unknown): Promise<void> {
    await act?.()
    await compare(name, () => readStep(page))
  }
  /** Returns the last control with this name. */
  const control = (name: string | RegExp): Locator =>
    CONTROLS.map((role) => page.getByRole(role, { name, exact: true }))
      .reduce((found, next) => found.or(next))
      .last()
  return {
    page,
    control,
    step,
    /** As `step`, and no timer of the page runs until it is compared: for what goes by itself. */
    async brief(name: string, act: () => unknown): Promise<void> {
      await page.clock.pauseAt(clock.now())
      await step(name, act)
      await page.clock.resume()
    },
    compare,
    /** Compares the words of a part of the page. */
    part: (name: string, part: Locator) => compare(name, () => wordsOf(part)),
    /** Compares what is there but no word, as readDetails has it. */
    details: (name: string) => record(`${name}, in detail`, () => readDetails(page).catch(String)),
    /** Compares how it looks, as readLook has it. */
    look: (name: string, part?: Locator) =>
      record(`${name}, as seen`, () => readLook(page, part).catch(String)),
    /** Presses controls with these names, one after the other, each once it can be used. */
    async press(...names: (string | RegExp)[]): Promise<void> {
      for (const name of names) await control(name).click()
    },
    fill: (label: string, text: string) =>
      page
        .locator('input, textarea')
        .and(page.getByLabel(label, { exact: true }))
        .fill(text),
    /** Goes to an address of the workspace, in the same page if it is still the same person. */
    async open(path: string, person?: { sessionToken: string }): Promise<void> {
      if (!person) {
        // Before there is a screen to come from, its heading would not take the focus.
        await page.locator('h1:not(.sr-only)').first().waitFor()
        return page.evaluate((address) => history.pushState(null, '', address), path)
      }
      await carrySession(page.context(), person.sessionToken, baseUrl)
      await page.goto(baseUrl + path)
    },
    /** Answers the next request to this address in place of the service. */
    answer: (url: string, status: number, body: object = {}, headers: Record<string, string> = {}) =>
      page.route(
        url,
        (route) => route.fulfill({ status, headers, contentType: 'application/problem+json', json: body }),
        { times: 1 },
      ),
    /** Moves the clocks of the service and the browser on. */
    async pass(time_ms: number): Promise<void> {
      clock.advance(time_ms)
      await page.clock.setFixedTime(clock.now())
    },
  }
}
