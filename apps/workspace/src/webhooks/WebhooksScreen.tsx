import { useState } from 'react'
import { useCompany } from '../api/company.ts'
import type { CallbackDestination } from '../api/contract.ts'
import { useDestination } from '../api/resources.ts'
import { draftOf } from '../session/drafts.ts'
import { Page } from '../shell/Page.tsx'
import { Loaded, Skeleton } from '../ui/Loaded.tsx'
import { useLater } from '../ui/later.ts'
import { DestinationForm, draftKey } from './DestinationForm.tsx'
import { SavedDestination } from './SavedDestination.tsx'
import { TestResults } from './TestResult.tsx'
import { useTestSend } from './test-send.ts'
import { WhatArrives } from './WhatArrives.tsx'

export default function WebhooksScreen() {
  return (
    <Page
      title="Callback URL"
      section="Integrations"
      lede="One public HTTPS address that receives your company’s events. So far the only event is the test event."
    >
      <Destination />
    </Page>
  )
}

const DestinationSkeleton = () => (
  <div className="grid gap-12">
    <Skeleton lines={3} />
    <Skeleton lines={3} />
  </div>
)

function Destination() {
  const query = useDestination()
  return (
    <Loaded query={query} skeleton={<DestinationSkeleton />}>
      {(destination) => <Known destination={destination} />}
    </Loaded>
  )
}

function Known({ destination }: { destination: CallbackDestination }) {
  const { vendorId } = useCompany()
  const saved = destination.callbackUrl ?? ''
  const [typed, setTyped] = useState(() => draftOf(draftKey(vendorId)) ?? saved)
  const test = useTestSend(vendorId)
  const later = useLater()
  const unsaved = typed.trim() !== saved
  return (
    <>
      <SavedDestination destination={destination} unsaved={unsaved} test={test} />
      <DestinationForm destination={destination} typed={typed} onType={setTyped} unsaved={unsaved} />
      {test.results.length > 0 && <TestResults results={test.results} vendorId={vendorId} saved={saved} />}
      {later && <WhatArrives callbackUrl={destination.callbackUrl} tested={test.results.length > 0} />}
    </>
  )
}
