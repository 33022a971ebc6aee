/** Runs `undo` when the block that is `using` it ends, however it ends. */
export const afterwards = (undo: () => unknown): AsyncDisposable => ({
  async [Symbol.asyncDispose]() {
    await undo()
  },
})
