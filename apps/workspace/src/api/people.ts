import { type QueryClient, useQuery } from '@tanstack/react-query'
import type { InvitedPerson, Person, PersonPage } from './contract.ts'
import { asMe } from './session.ts'

/** As many as a company may have, and as the API answers at once. */
const PAGE = 200
const REFRESH_MS = 20_000

const peoplePath = (vendorId: string) => `/v1/vendor/${encodeURIComponent(vendorId)}/people`
const personPath = (vendorId: string, userId: string) =>
  `${peoplePath(vendorId)}/${encodeURIComponent(userId)}`

/** The owner, admins, members, then those who are invited; each by name. */
export const usePeople = (vendorId: string) =>
  useQuery({
    queryKey: ['people', vendorId],
    queryFn: async ({ signal }) =>
      (await asMe<PersonPage>(`${peoplePath(vendorId)}?limit=${PAGE}`, { signal })).people,
    // Someone else may have changed the people a moment ago, this person's own place among them.
    staleTime: 0,
    refetchInterval: REFRESH_MS,
  })

/** The link in the answer is the caller's to show and forget: it must not enter a cache. */
export const invitePerson = (
  vendorId: string,
  person: { name: string; email: string; role: 'admin' | 'member' },
): Promise<InvitedPerson> => asMe<InvitedPerson>(peoplePath(vendorId), { method: 'POST', body: person })

export const changePerson = (
  vendorId: string,
  userId: string,
  change: Partial<Pick<Person, 'role' | 'status'>>,
): Promise<Person> => asMe<Person>(personPath(vendorId, userId), { method: 'PATCH', body: change })

/** Ends a membership, or an invitation. */
export const removePerson = (vendorId: string, userId: string): Promise<void> =>
  asMe<void>(personPath(vendorId, userId), { method: 'DELETE' })

/** Reloads the people and the activity. Resolves when the people are up to date. */
export async function peopleChanged(queryClient: QueryClient, vendorId: string): Promise<void> {
  void queryClient.invalidateQueries({ queryKey: ['activity', vendorId] })
  await queryClient.invalidateQueries({ queryKey: ['people', vendorId] })
}
