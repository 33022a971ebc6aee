import { createElement, Fragment, type ReactNode } from 'react'

const LIST = new Intl.ListFormat('en-GB')

/** Returns "a, b and c". */
export const listed = (items: readonly ReactNode[]): ReactNode => {
  const parts = LIST.formatToParts(items.map((_, index) => `${index}`))
  const nodes = parts.map(({ type, value }) => (type === 'element' ? items[Number(value)] : value))
  return createElement(Fragment, null, ...nodes)
}

/** Renders a sentence as one element. Typed text is isolated, so a right-to-left name moves nothing else. */
export function say(words: TemplateStringsArray, ...typed: ReactNode[]): ReactNode {
  const isolated = typed.map((node) => (typeof node === 'string' ? createElement('bdi', null, node) : node))
  return createElement('span', null, ...words.flatMap((text, index) => [text, isolated[index]]))
}
