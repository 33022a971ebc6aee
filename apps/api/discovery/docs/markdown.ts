import { Marked, type Tokens } from 'marked'
import { escaped, figure, table } from './html.ts'
import { plainMarkdown } from './plain-markdown.ts'

/** Languages of the examples, by the word that follows the fence. Their order is that of the choice. */
export const LANGUAGES: Record<string, string> = {
  sh: 'curl',
  js: 'Node',
  py: 'Python',
  go: 'Go',
  java: 'Java',
  php: 'PHP',
}

/** What other fenced blocks are. */
const KINDS: Record<string, string> = {
  console: 'Shell',
  http: 'HTTP',
  json: 'JSON',
  regex: 'Regular expression',
}

export interface MarkdownOptions {
  /** Replaces a line that holds nothing but `{{name}}`. */
  slots: Record<string, () => string>
  /** Replaces `{name}` anywhere, also in code. */
  values: Record<string, string>
  /** The address of another page, given the name of its file without `.md`. */
  hrefOf(page: string): string
}

/**
 * Renders one page. Fenced blocks of LANGUAGES that follow each other are one example in several languages; a word
 * after the language names the file.
 * @throws Error for a slot or a kind of block that is unknown.
 */
export function renderMarkdown(markdown: string, options: MarkdownOptions): string {
  const marked = createMarked(options)
  const html: string[] = []
  let example: Tokens.Code[] = []
  const endExample = () => {
    if (example.length > 0) html.push(examples(example, html.length))
    example = []
  }
  for (const token of marked.lexer(withValues(markdown, options))) {
    if (token.type === 'space') continue
    if (token.type === 'code' && languageOf(token as Tokens.Code) in LANGUAGES) {
      example.push(token as Tokens.Code)
      continue
    }
    endExample()
    html.push(slotOf(token.raw, options) ?? marked.parser([token]))
  }
  endExample()
  return html.join('\n')
}

/**
 * Returns one page as Markdown, the slots too.
 * @throws Error for an unknown slot.
 */
export const filledMarkdown = (markdown: string, options: MarkdownOptions): string =>
  withValues(markdown, options)
    .replaceAll(/^\{\{[^{}]+\}\}$/gm, (line) => plainMarkdown(slotOf(line, options) ?? ''))
    .replaceAll(/\]\(([a-z-]+)\.md\b/g, (_, page) => `](${options.hrefOf(page)}`)

const withValues = (markdown: string, { values }: MarkdownOptions): string =>
  markdown.replaceAll(/\{([a-z_]+)\}(?!\})/g, (whole, name) => values[name] ?? whole)

function slotOf(line: string, { slots }: MarkdownOptions): string | undefined {
  const [, name] = /^\{\{(.+)\}\}$/.exec(line.trim()) ?? []
  if (name === undefined) return undefined
  const slot = slots[name]
  if (!slot) throw new Error(`the documentation has no slot ${name}`)
  return slot()
}

function createMarked({ hrefOf }: MarkdownOptions): Marked {
  return new Marked({
    renderer: {
      heading({ tokens, depth }) {
        const html = this.parser.parseInline(tokens)
        return `<h${depth} id="${slug(html)}">${html}</h${depth}>\n`
      },
      code(token) {
        const [kind = '', caption = KINDS[kind]] = (token.lang ?? '').split(' ')
        if (caption === undefined) throw new Error(`the documentation has no blocks of ${kind}`)
        return figure({ text: token.text, caption, label: caption })
      },
      link({ href, tokens }) {
        const [, page, anchor = ''] = /^(?:\.\/)?([a-z-]+)\.md(#.*)?$/.exec(href) ?? []
        const target = page === undefined ? href : hrefOf(page) + anchor
        return `<a href="${escaped(target)}">${this.parser.parseInline(tokens)}</a>`
      },
      table({ header, rows }) {
        return table(
          header.map(({ text }) => text),
          rows.map((cells) => cells.map(({ tokens }) => this.parser.parseInline(tokens))),
        )
      },
    },
  })
}

/** Lower case; the colon of a scope stays. */
const slug = (html: string): string =>
  html
    .replaceAll(/<[^<>]+>|&[#\w]+;/g, '')
    .toLowerCase()
    .replaceAll(/[^a-z0-9:_]+/g, '-')
    .replaceAll(/^-|-$/g, '')

const languageOf = ({ lang = '' }: Tokens.Code): string => lang.split(' ')[0] ?? ''

/** One example in one or more languages. Which one is shown needs no script: the style follows the radio buttons. */
function examples(codes: readonly Tokens.Code[], number: number): string {
  const figures = codes.map((token) => {
    const [language = '', file] = (token.lang ?? '').split(' ')
    const name = LANGUAGES[language] ?? language
    const label = file === undefined ? name : `${name}: ${file}`
    return figure({ text: token.text, caption: file ?? name, label, language })
  })
  if (codes.length === 1) return figures[0] as string
  const choice = codes.map((token, index) => {
    const language = languageOf(token)
    return `<label class="choice"><input type="radio" name="example-${number}" value="${language}"${index === 0 ? ' checked' : ''}><span class="tabs-tab">${LANGUAGES[language]}</span></label>`
  })
  return `<div class="examples tabs"><fieldset class="tabs-list"><legend class="off-screen">Language</legend>${choice.join('')}</fieldset>${figures.join('')}</div>`
}
