import { checkSession, signOut } from '../session/session.ts'
import { Button } from '../ui/Button.tsx'
import { Notice } from '../ui/Notice.tsx'
import { Brand } from './Brand.tsx'

/** Between a reload and the answer to who this is. */
export function Opening({ error }: { error?: Error }) {
  return (
    <main className="opening">
      <h1 className="off-screen">Integration Access</h1>
      <Brand />
      {error ? (
        <Notice
          tone="warn"
          title="The service cannot be reached"
          live
          actions={
            <>
              <Button variant="primary" onClick={() => void checkSession()}>
                Try again
              </Button>
              <Button variant="quiet" onClick={() => void signOut()}>
                Sign out
              </Button>
            </>
          }
        >
          You are still signed in. {error.message}
        </Notice>
      ) : (
        <p className="opening-line" role="status">
          <span className="off-screen">Opening the workspace</span>
        </p>
      )}
    </main>
  )
}
