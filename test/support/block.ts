/** What all tests of a block use: made before the first of them, and ended after the last. */
export function forBlock<T extends object>(make: () => T | Promise<T>): T {
  const made = {} as T
  before(async function () {
    await become(made, make)
    endsOf(this).defer(() => end(made))
  })
  after(function () {
    return endsOf(this).disposeAsync()
  })
  return made
}

/** What is made anew for each test of a block, and ended with it. */
export function forEachTest<T extends object>(make: () => T | Promise<T>): T {
  const made = {} as T
  beforeEach(() => become(made, make))
  afterEach(() => end(made))
  return made
}

/** Takes the members of what is made: a class, or what changes members of its own, would be left behind. */
async function become<T extends object>(made: T, make: () => T | Promise<T>): Promise<void> {
  Object.defineProperties(made, Object.getOwnPropertyDescriptors(await make()))
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
