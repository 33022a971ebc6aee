import { type ComponentType, type ReactNode, useEffect, useState } from 'react'

/**
 * Creates a component whose file is fetched when it is first shown, or earlier by `load`. It shows the
 * placeholder only until then. React's `lazy` would keep it for at least 300 ms, even if the file is there
 * already. Returns a component that throws to the nearest error boundary when its file cannot be fetched.
 */
export function deferred<Props extends object>(
  fetchFile: () => Promise<{ default: ComponentType<Props> }>,
  placeholder: ReactNode,
) {
  let cached: ComponentType<Props> | undefined
  /** @throws TypeError when the file cannot be fetched. */
  async function load(): Promise<ComponentType<Props>> {
    cached ??= (await fetchFile()).default
    return cached
  }
  function Deferred(props: Props) {
    const [Shown, setShown] = useState(() => cached)
    const [error, setError] = useState<Error>()
    useEffect(() => {
      if (!Shown) load().then((component) => setShown(() => component), setError)
    }, [Shown])
    if (error) throw error
    return Shown ? <Shown {...props} /> : placeholder
  }
  return Object.assign(Deferred, { load })
}
