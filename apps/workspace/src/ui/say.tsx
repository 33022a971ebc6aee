import { Fragment, type ReactNode } from 'react'

const LIST = new Intl.ListFormat('en-GB')

/** Returns "a, b and c". */
export const listed = (items: readonly ReactNode[]): ReactNode[] =>
  LIST.formatToParts(items.map((_, index) => `${index}`)).map(({ type, value }, index) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: the parts of a sentence stay in their order.
    <Fragment key={index}>{type === 'element' ? items[Number(value)] : value}</Fragment>
  ))

/** Renders a sentence as one element. Typed text is isolated, so a right-to-left name moves nothing else. */
export const say = (words: TemplateStringsArray, ...typed: ReactNode[]): ReactNode => (
  <span>
    {words.map((text, index) => (
      // biome-ignore lint/suspicious/noArrayIndexKey: the parts of a sentence stay in their order.
      <Fragment key={index}>
        {text}
        {typeof typed[index] === 'string' ? <bdi>{typed[index]}</bdi> : typed[index]}
      </Fragment>
    ))}
  </span>
)
