import { Redirect } from 'wouter'
import { currentCompany } from '../api/company.ts'
import { useRefusalCompany } from '../api/resources.ts'
import { pathTo } from '../api/screens.ts'
import { useSignedIn } from '../api/session.ts'
import { Opening } from '../ui/PlainPage.tsx'

/** From `/explain/{request_id}`, which names no company, to the screen of the company whose client it was. */
export function FindRefusal({ requestId }: { requestId: string | undefined }) {
  const { companies } = useSignedIn()
  const visible = companies.filter((company) => currentCompany(company).mayView)
  const matchId = useRefusalCompany(
    visible.map(({ vendorId }) => vendorId),
    requestId,
  )
  if (matchId === undefined) return <Opening />
  const company = visible.find(({ vendorId }) => vendorId === matchId) ?? visible[0] ?? companies[0]
  if (!company) return <Redirect to="/" replace />
  return <Redirect to={pathTo(company.vendorId, 'explain', requestId)} replace />
}
