import { Fragment, type ReactNode } from 'react'

/** A sentence. Text in it that someone typed is isolated, so that a name written from right to left moves nothing else. */
export const say = (words: TemplateStringsArray, ...typed: ReactNode[]): ReactNode =>
  words.map((text, index) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: the parts of a sentence stay in their order.
    <Fragment key={index}>
      {text}
      {typeof typed[index] === 'string' ? <bdi>{typed[index]}</bdi> : typed[index]}
    </Fragment>
  ))
