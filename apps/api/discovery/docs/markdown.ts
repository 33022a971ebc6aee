import { Marked, Renderer, type Token, type Tokens } from 'marked'

/** Languages of the examples, by the word that follows the fence. */
const LANGUAGES: Record<string, string> = {
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
  form: 'Form',
  http: 'HTTP',
  json: 'JSON',
  regex: 'Regular expression',
  text: 'Text',
}

const ENTITIES: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

export const escaped = (text: string): string =>
  text.replaceAll(/[&<>"']/g, (character) => ENTITIES[character] ?? '')

/** Returns a table in Markdown. */
export const table = (headings: readonly string[], rows: readonly (readonly string[])[]): string =>
  [headings, headings.map(() => '---'), ...rows]
    .map((cells) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`)
    .join('\n')

/**
 * Renders a page. A heading or an item of a list may end with its id, `{#id}`. Fenced blocks of LANGUAGES that follow
 * each other are one example, of which one language is open at a time; a word after the language names the file.
 * @param hrefOf returns the address of another page, given the name of its file without `.md`.
 * @throws Error for an unknown kind of block.
 */
export function renderMarkdown(markdown: string, hrefOf: (page: string) => string): string {
  const marked = createMarked(hrefOf)
  const html: string[] = []
  let example: Tokens.Code[] = []
  const endExample = () => {
    if (example.length > 0) html.push(languages(example, html.length))
    example = []
  }
  for (const token of marked.lexer(markdown)) {
    if (token.type === 'space') continue
    if (isExample(token)) {
      example.push(token)
      continue
    }
    endExample()
    html.push(marked.parser([token]))
  }
  endExample()
  return html.join('\n')
}

const isExample = (token: Token): token is Tokens.Code =>
  token.type === 'code' && wordsOf(token as Tokens.Code)[0] in LANGUAGES

function createMarked(hrefOf: (page: string) => string): Marked {
  return new Marked({
    // An address in a sentence is an example, not a link.
    tokenizer: { url: () => undefined },
    renderer: {
      heading({ text, tokens, depth }) {
        const [, id = idOf(text)] = ID.exec(text) ?? []
        const html = this.parser.parseInline(tokens).replace(ID, '')
        const inner = depth === 1 ? html : `<a class="self" href="#${id}">${html}</a>`
        return `<h${depth} id="${id}">${inner}</h${depth}>`
      },
      listitem(item) {
        const html = Renderer.prototype.listitem.call(this, item)
        return html.replace(/^<li>(.*) \{#(\S+)\}/, '<li id="$2">$1')
      },
      code: figure,
      link({ href, tokens }) {
        const [, page, anchor = ''] = /^([a-z/-]+)\.md(#.*)?$/.exec(href) ?? []
        const target = page === undefined ? href : hrefOf(page) + anchor
        return `<a href="${escaped(target)}">${this.parser.parseInline(tokens)}</a>`
      },
      // It scrolls on its own, by keyboard too.
      table(token) {
        const label = escaped(token.header.map(({ text }) => text).join(', '))
        const html = Renderer.prototype.table.call(this, token)
        return `<div class="table" tabindex="0" role="group" aria-label="${label}">${html}</div>`
      },
    },
  })
}

const ID = / \{#(\S+)\}$/

/** The id of a heading that names none. The colon of a scope stays. */
const idOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replaceAll(/[^a-z0-9:_]+/g, '-')
    .replaceAll(/^-|-$/g, '')

const wordsOf = ({ lang = '' }: Tokens.Code): [kind: string, file?: string] =>
  lang.split(' ') as [string, string?]

function figure(token: Tokens.Code): string {
  const [kind, file] = wordsOf(token)
  const caption = file ?? LANGUAGES[kind] ?? KINDS[kind]
  if (caption === undefined) throw new Error(`the documentation has no blocks of ${kind}`)
  const label = file !== undefined && kind in LANGUAGES ? `${LANGUAGES[kind]}: ${file}` : caption
  return `<figure class="code" data-kind="${kind}"><figcaption>${caption}</figcaption><pre tabindex="0" role="group" aria-label="${label}"><code>${escaped(token.text)}</code></pre></figure>`
}

/** One example in one or more languages. */
function languages(codes: readonly Tokens.Code[], number: number): string {
  if (codes.length === 1) return figure(codes[0] as Tokens.Code)
  const choices = codes.map((token, index) => {
    const [language] = wordsOf(token)
    return `<details name="example-${number}"${index === 0 ? ' open' : ''}><summary>${LANGUAGES[language]}</summary>${figure(token)}</details>`
  })
  return `<div class="languages">${choices.join('\n')}</div>`
}
