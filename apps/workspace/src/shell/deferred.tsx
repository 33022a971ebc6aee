import { type ComponentType, type ReactNode, useEffect, useState } from 'react'

/**
 * Makes a component whose file is fetched when it is first shown, or sooner by `load`. Until the file is there the
 * placeholder is shown, and for no longer: React's `lazy` would keep a placeholder for at least 300 ms, also when the
 * file has been fetched before.
 * @returns the component, which throws to the nearest error boundary when its file cannot be fetched.
 */
export function deferred<Props extends object>(
  fetchFile: () => Promise<{ default: ComponentType<Props> }>,
  placeholder: ReactNode = null,
) {
  let fetched: ComponentType<Props> | undefined
  /** @throws TypeError when the file cannot be fetched. */
  async function load(): Promise<ComponentType<Props>> {
    fetched ??= (await fetchFile()).default
    return fetched
  }
  function Deferred(props: Props) {
    const [Shown, setShown] = useState(() => fetched)
    const [error, setError] = useState<Error>()
    useEffect(() => {
      if (!Shown) load().then((component) => setShown(() => component), setError)
    }, [Shown])
    if (error) throw error
    return Shown ? <Shown {...props} /> : placeholder
  }
  return Object.assign(Deferred, { load })
}
