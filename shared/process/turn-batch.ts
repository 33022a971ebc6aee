/**
 * Returns a function that asks one question, together with the others of the same turn of the event loop. A batch of at
 * most `size` begins after each of its questions was put, so its answers are as fresh as if each had been asked alone.
 * `ask` gives one answer for each question, in their order; when it rejects, each question of the batch does.
 * `limits`: the most batches that run at once, while questions that arrive form the next; and how long queued questions
 * wait, or up to twice as long, until they reject with code ETIMEDOUT. Default: none.
 */
export function batchPerTurn<Question, Answer>(
  ask: (questions: Question[]) => Promise<readonly Answer[]>,
  size: number,
  limits: { atOnce?: number; wait_ms?: number } = {},
): (question: Question) => Promise<Answer> {
  type PendingQuestion = { question: Question; at_ms: number } & PromiseWithResolvers<Answer>
  const { atOnce = Number.POSITIVE_INFINITY, wait_ms } = limits
  let waiting: PendingQuestion[] = []
  let running = 0
  let scheduled = false
  let timer: NodeJS.Timeout | undefined

  function schedule(): void {
    if (scheduled || waiting.length === 0) return
    if (running >= atOnce) giveUpInTime()
    else {
      scheduled = true
      setImmediate(runOne)
    }
  }

  async function runOne(): Promise<void> {
    scheduled = false
    const batch = waiting.slice(0, size)
    waiting = waiting.slice(size)
    running += 1
    schedule()
    try {
      const answers = await ask(batch.map(({ question }) => question))
      batch.forEach(({ resolve }, i) => {
        resolve(answers[i] as Answer)
      })
    } catch (error) {
      for (const { reject } of batch) reject(error)
    }
    running -= 1
    schedule()
  }

  function giveUpInTime(): void {
    if (wait_ms === undefined || timer) return
    timer = setTimeout(() => {
      timer = undefined
      const late = waiting.filter(({ at_ms }) => performance.now() - at_ms >= wait_ms)
      waiting = waiting.slice(late.length)
      for (const { reject } of late)
        reject(Object.assign(new Error('waited too long'), { code: 'ETIMEDOUT' }))
      schedule()
    }, wait_ms).unref()
  }

  return (question) => {
    const pending = { question, at_ms: performance.now(), ...Promise.withResolvers<Answer>() }
    waiting.push(pending)
    schedule()
    return pending.promise
  }
}
