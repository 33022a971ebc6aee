/** Returns an object for all tests of a block: created before the first of them, disposed after the last. */
export function forBlock<T extends object>(make: () => T | Promise<T>): T {
  const { standIn, become } = standInFor(make)
  before(async function () {
    await become()
    findStack(this).defer(() => end(standIn))
  })
  after(function () {
    return findStack(this).disposeAsync()
  })
  return standIn
}

/** Returns an object that is created for each test of a block and disposed after it. */
export function forEachTest<T extends object>(make: () => T | Promise<T>): T {
  const { standIn, become } = standInFor(make)
  beforeEach(become)
  afterEach(() => end(standIn))
  return standIn
}

/** Runs `undo` when the block that is `using` it ends, however it ends. */
export const afterwards = (undo: () => unknown): AsyncDisposable => ({
  [Symbol.asyncDispose]: async () => void (await undo()),
})

/**
 * Returns `standIn`, which can be used in a block before its value exists: it forwards to the value that
 * `become` created last. That may be a plain object or one of a class without private members, not a
 * function, array or Map.
 */
function standInFor<T extends object>(make: () => T | Promise<T>) {
  let value = {} as T
  const standIn = new Proxy({} as T, {
    get: (_, name) => Reflect.get(value, name),
    set: (_, name, member) => Reflect.set(value, name, member),
    has: (_, name) => Reflect.has(value, name),
    deleteProperty: (_, name) => Reflect.deleteProperty(value, name),
    ownKeys: () => Reflect.ownKeys(value),
    getOwnPropertyDescriptor: (_, name) => Reflect.getOwnPropertyDescriptor(value, name),
    getPrototypeOf: () => Reflect.getPrototypeOf(value),
  })
  async function become() {
    value = await make()
  }
  return { standIn, become }
}

const end = (value: Partial<AsyncDisposable>) => value[Symbol.asyncDispose]?.()

const ends = new WeakMap<object, AsyncDisposableStack>()

/** Returns the stack that disposes of a block's objects, the newest first, since it may use older ones. */
function findStack({ test: hook }: Mocha.Context): AsyncDisposableStack {
  const block = hook?.parent as Mocha.Suite
  const stack = ends.get(block) ?? new AsyncDisposableStack()
  ends.set(block, stack)
  return stack
}
