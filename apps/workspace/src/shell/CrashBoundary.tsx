import { Component, type ReactNode } from 'react'
import { Button } from '../ui/Button.tsx'
import { Notice } from '../ui/Notice.tsx'

/**
 * Shows an error and a link to reload when its children throw or their files cannot be loaded, as after a
 * release that replaced them.
 */
export class CrashBoundary extends Component<{ children: ReactNode }, { crashed: boolean }> {
  override state = { crashed: false }

  static getDerivedStateFromError(): { crashed: boolean } {
    return { crashed: true }
  }

  override render(): ReactNode {
    if (!this.state.crashed) return this.props.children
    return (
      <div className="mx-auto grid max-w-270 gap-5 py-2">
        <title>This screen could not be shown</title>
        <h1>This screen could not be shown</h1>
        <Notice
          tone="warn"
          title="Reload to try again"
          live
          actions={
            <Button variant="primary" onClick={() => location.reload()}>
              Reload
            </Button>
          }
        >
          You may be offline, or the workspace was updated while it was open.
        </Notice>
      </div>
    )
  }
}
