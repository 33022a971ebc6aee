import { Fragment, type ReactNode } from 'react'

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
