import { checkSession } from '../api/session.ts'
import { Brand } from './Brand.tsx'
import { Button } from './Button.tsx'
import { Notice } from './Notice.tsx'
import './opening.css'

/** Until the service has said who is signed in. */
export function Opening({ error }: { error?: Error }) {
  return (
    <main className="opening">
      <h1 className="off-screen">Integration Access</h1>
      <Brand />
      {error ? (
        <Notice
          tone="warn"
          title="The workspace could not be opened"
          live
          actions={
            <Button variant="primary" onClick={() => void checkSession()}>
              Try again
            </Button>
          }
        >
          {error.message}
        </Notice>
      ) : (
        <p className="opening-line" role="status">
          <span className="off-screen">Opening the workspace</span>
        </p>
      )}
    </main>
  )
}
