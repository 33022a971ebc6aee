import { Component, type ReactNode } from 'react'
import { Button } from '../ui/Button.tsx'
import { Notice } from '../ui/Notice.tsx'

/** When drawing a screen fails, or a new release has replaced the files of this one: says so, and offers a fresh start. */
export class CrashBoundary extends Component<{ children: ReactNode }, { crashed: boolean }> {
  override state = { crashed: false }

  static getDerivedStateFromError(): { crashed: boolean } {
    return { crashed: true }
  }

  override render(): ReactNode {
    if (!this.state.crashed) return this.props.children
    return (
      <main className="opening">
        <h1 className="off-screen">Integration Access</h1>
        <Notice
          tone="bad"
          title="This screen could not be shown"
          live
          actions={
            <Button variant="primary" onClick={() => location.reload()}>
              Load it again
            </Button>
          }
        >
          Nothing was changed by this. The workspace may have been updated while it was open.
        </Notice>
      </main>
    )
  }
}
