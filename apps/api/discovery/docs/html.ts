const ENTITIES: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

export const escaped = (text: string): string =>
  text.replaceAll(/[&<>"']/g, (character) => ENTITIES[character] ?? '')

/** Undoes `escaped`. */
export const unescaped = (html: string): string =>
  html.replaceAll(
    /&(?:amp|lt|gt|quot|#39);/g,
    (entity) => Object.keys(ENTITIES).find((character) => ENTITIES[character] === entity) ?? '',
  )

export const code = (text: string): string => `<code>${escaped(text)}</code>`

/** Text in which `this` is code. */
export const prose = (text: string): string => escaped(text).replaceAll(/`([^`]+)`/g, '<code>$1</code>')

/** @param rows cells of HTML. A wide table scrolls on its own, by keyboard too. */
export const table = (headings: readonly string[], rows: readonly (readonly string[])[]): string =>
  `<div class="table" tabindex="0" role="group" aria-label="${escaped(headings.join(', '))}"><table><thead><tr>${headings
    .map((heading) => `<th scope="col">${escaped(heading)}</th>`)
    .join('')}</tr></thead><tbody>${rows
    .map((row) => `<tr>${row.map((cell) => `<td>${cell}</td>`).join('')}</tr>`)
    .join('')}</tbody></table></div>`

/** A block of code with its name and, if the browser runs scripts, a button that copies it. */
export function figure({
  text,
  caption,
  label,
  language,
}: {
  text: string
  caption: string
  /** What assistive technology calls it. */
  label: string
  language?: string | undefined
}): string {
  const attribute = language === undefined ? '' : ` data-language="${escaped(language)}"`
  return `<figure class="code"${attribute}><figcaption>${escaped(caption)}<button type="button" class="copy" aria-label="Copy ${escaped(label)}" hidden>Copy</button></figcaption><pre tabindex="0" role="group" aria-label="${escaped(label)}"><code>${escaped(text)}</code></pre></figure>`
}
