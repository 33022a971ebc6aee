import type { Answer, ApiDocument, Operation } from './document-shape.ts'

const PLACE = '#/components/responses/'

/**
 * Puts every error that more than one operation answers into one place, so that the document is a third of its size.
 * A reader that resolves all references at once takes seconds for the whole of it otherwise.
 * @returns those answers, each under the names of its errors. The operations get references to them.
 */
export function shareAnswers(paths: ApiDocument['paths']): Record<string, Answer> {
  const operations = Object.values(paths).flatMap((methods) => Object.values(methods))
  const errors = operations.flatMap(({ responses }) =>
    Object.entries(responses).flatMap(([status, answer]) =>
      status < '400' || '$ref' in answer ? [] : [{ responses, status, answer }],
    ),
  )
  const shared: Record<string, Answer> = {}
  for (const same of Map.groupBy(errors, ({ answer }) => JSON.stringify(answer)).values()) {
    const [first] = same
    if (!first || same.length === 1) continue
    const name = nameOf(first.status, first.answer)
    // Two that differ otherwise: the second stays where it is.
    if (name in shared) continue
    shared[name] = first.answer
    for (const { responses, status } of same) responses[status] = { $ref: PLACE + name }
  }
  return shared
}

/** The errors that its description names. A problem has one status; an OAuth error can have several. */
const nameOf = (status: string, { description, content = {} }: Answer): string =>
  ('application/json' in content ? `OAuth_${status}_` : '') +
  [...description.matchAll(/`(\w+)`: /g)].map(([, code = '']) => code).join('_or_')

/** Returns the answer of an operation, also when it is a reference. */
export function answerOf(
  { components }: Pick<ApiDocument, 'components'>,
  answer: Operation['responses'][string],
): Answer {
  return '$ref' in answer ? (components.responses[answer.$ref.slice(PLACE.length)] as Answer) : answer
}
