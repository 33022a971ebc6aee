/** What all tests of a block use: made before the first of them, and ended after the last. */
export function forBlock<T extends object>(make: () => T | Promise<T>): T {
  const { standIn, become } = standInFor(make)
  before(async function () {
    await become()
    endsOf(this).defer(() => end(standIn))
  })
  after(function () {
    return endsOf(this).disposeAsync()
  })
  return standIn
}

/** What is made anew for each test of a block, and ended with it. */
export function forEachTest<T extends object>(make: () => T | Promise<T>): T {
  const { standIn, become } = standInFor(make)
  beforeEach(become)
  afterEach(() => end(standIn))
  return standIn
}

/**
 * An object that can be named before it is made: whatever is asked of `standIn` is asked of what `become`
 * made last. That may be a plain object or one of a class without private members, but no function, array or
 * Map.
 */
function standInFor<T extends object>(make: () => T | Promise<T>) {
  let made = {} as T
  const standIn = new Proxy({} as T, {
    get: (_, name) => Reflect.get(made, name),
    set: (_, name, value) => Reflect.set(made, name, value),
    has: (_, name) => Reflect.has(made, name),
    deleteProperty: (_, name) => Reflect.deleteProperty(made, name),
    ownKeys: () => Reflect.ownKeys(made),
    getOwnPropertyDescriptor: (_, name) => Reflect.getOwnPropertyDescriptor(made, name),
    getPrototypeOf: () => Reflect.getPrototypeOf(made),
  })
  async function become() {
    made = await make()
  }
  return { standIn, become }
}

const end = (made: Partial<AsyncDisposable>) => made[Symbol.asyncDispose]?.()

const ends = new WeakMap<object, AsyncDisposableStack>()

/** How what a block made is ended: what was made later first, since it may use what was made before. */
function endsOf({ test: hook }: Mocha.Context): AsyncDisposableStack {
  const block = hook?.parent as Mocha.Suite
  const known = ends.get(block) ?? new AsyncDisposableStack()
  ends.set(block, known)
  return known
}
