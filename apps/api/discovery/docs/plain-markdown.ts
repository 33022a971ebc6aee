import { unescaped } from './html.ts'

/** An element that contains no other. */
const INNERMOST = /<(\w+)((?: [^<>]*)?)>([^<]*)<\/\1>/g
const VOID_ELEMENT = /<input[^<>]*>/g
const ID = / id="([^"]*)"/
const HREF = / href="([^"]*)"/
const SELF_LINK = / class="self"/

/**
 * Returns the generated HTML of a slot as Markdown. A table becomes a list with an item for each row, since a cell may
 * hold another table; an id stays behind its heading, as `{#id}`.
 */
export function plainMarkdown(html: string): string {
  let text = html.replaceAll(VOID_ELEMENT, '')
  for (let before = ''; before !== text; ) {
    before = text
    text = text.replaceAll(INNERMOST, (_, name: string, attributes: string, content: string) =>
      elementAsMarkdown(name, attributes, content),
    )
  }
  return unescaped(text)
    .split('\n')
    .map((line) => line.trimEnd())
    .join('\n')
    .replaceAll(/\n{3,}/g, '\n\n')
    .trim()
}

/** @param content Markdown in which `<` and `&` are still entities. */
function elementAsMarkdown(name: string, attributes: string, content: string): string {
  switch (name) {
    case 'h2':
    case 'h3':
    case 'h4': {
      const [, id] = ID.exec(attributes) ?? []
      return `\n\n${'#'.repeat(Number(name[1]))} ${content}${id === undefined ? '' : ` {#${id}}`}\n\n`
    }
    case 'a':
      return SELF_LINK.test(attributes) ? content : `[${content}](${HREF.exec(attributes)?.[1]})`
    case 'b':
    case 'dt':
      return name === 'b' ? `**${content}**` : `\n- ${content}: `
    case 'code':
      return `\`${content}\``
    case 'pre':
      return `\n\n\`\`\`\n${content.slice(1, -1)}\n\`\`\`\n\n`
    case 'tr':
      return `\n- ${content.replace(/ · $/, '')}`
    case 'td':
      return content === '' ? '' : `${content.trim().replaceAll(/\n+/g, '\n  ')} · `
    case 'li':
      return `\n- ${content}`
    case 'p':
    case 'table':
      return `\n\n${content}\n\n`
    case 'thead':
    case 'button':
    case 'form':
      return ''
    default:
      return content
  }
}
