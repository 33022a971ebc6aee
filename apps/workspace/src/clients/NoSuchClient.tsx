import { useCompany } from '../api/company.ts'
import { Notice } from '../ui/Notice.tsx'
import { say } from '../ui/say.ts'

export function NoSuchClient({ clientId }: { clientId: string }) {
  const { name } = useCompany()
  return (
    <Notice tone="info" title={say`No client with this id in ${name}`} live>
      <code className="wrap-anywhere">{clientId}</code> may be mistyped, or belong to another company.
    </Notice>
  )
}
