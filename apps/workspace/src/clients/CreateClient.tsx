import type { OAuthClient } from '../api/contract.ts'
import { Button } from '../ui/Button.tsx'
import { Dialog } from '../ui/Dialog.tsx'
import { Field } from '../ui/Field.tsx'
import { FormDialog } from '../ui/FormDialog.tsx'
import { Notice } from '../ui/Notice.tsx'
import { AuthChoice } from './AuthChoice.tsx'
import { type CreationOptions, useCreation } from './creation.ts'
import { ExpiryChoice } from './ExpiryChoice.tsx'
import { hasExpired, lifetimeOf } from './expiry.ts'
import { ScopeChoice } from './ScopeChoice.tsx'
import { Scopes } from './Status.tsx'

export function CreateClient(options: CreationOptions) {
  const { replaces } = options
  const form = useCreation(options)
  const { draft, errors, change } = form
  if (form.lost) return <LostSecret client={form.lost} onClose={form.close} />
  const narrower = replaces !== undefined && draft.scopes.length < replaces.scopes.length
  return (
    <FormDialog
      title={replaces ? 'Create the replacement' : 'Create a client'}
      description={
        replaces
          ? `It gets ${narrower ? 'fewer' : 'the same'} scopes, a new id and a new secret or key.${hasExpired(replaces, new Date()) ? '' : ' Both clients work until you revoke the old one.'}`
          : 'Create one client per integration, so that you can revoke each on its own.'
      }
      onClose={form.close}
      form={form}
      action={replaces ? 'Create replacement' : 'Create client'}
    >
      <Field
        label="Name"
        hint="What it is for, such as “Warehouse reports”. Only your company sees it."
        error={errors.name}
        name="name"
        dir="auto"
        autoComplete="off"
        value={draft.name}
        onChange={(event) => change({ name: event.target.value })}
      />
      {replaces ? (
        <GivenScopes
          scopes={draft.scopes}
          title={narrower ? 'Scopes, fewer than before' : 'Scopes, the same as before'}
        />
      ) : (
        <ScopeChoice
          scopes={draft.scopes}
          onChange={(scopes) => change({ scopes })}
          error={errors.scopes}
          proof={draft.way === 'secret' ? 'secret' : 'private key'}
        />
      )}
      <AuthChoice
        way={draft.way}
        onChange={(way) => change({ way })}
        error={errors.publicKey}
        onRetype={() => form.forgive('publicKey')}
      />
      <ExpiryChoice
        expiry={draft.expiry}
        before={replaces ? lifetimeOf(replaces) : 'never'}
        onChange={(expiry) => change({ expiry })}
        error={errors.expiry}
      />
    </FormDialog>
  )
}

const GivenScopes = ({ scopes, title }: { scopes: OAuthClient['scopes']; title: string }) => (
  <div className="field">
    <p className="field-title">{title}</p>
    <Scopes scopes={scopes} />
  </div>
)

/** The creation was repeated after an answer that never came: the client is there, its secret went with that answer. */
const LostSecret = ({ client, onClose }: { client: OAuthClient; onClose: () => void }) => (
  <Dialog title="Create a client" onClose={onClose}>
    <Notice tone="warn" title="Created, but its secret is lost" live>
      Your first try created <bdi>{client.name}</bdi>, but the answer with its secret never arrived, and a
      secret is sent only once. Revoke this client and create another.
    </Notice>
    <footer className="dialog-foot">
      <Button variant="primary" onClick={onClose}>
        Close
      </Button>
    </footer>
  </Dialog>
)
