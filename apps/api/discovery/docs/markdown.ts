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

/** Captions of other fenced blocks. */
const BLOCK_CAPTIONS: Record<string, string> = {
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

export const escapeHtml = (text: string): string =>
  text.replaceAll(/[&<>"']/g, (character) => ENTITIES[character] ?? '')

/** Returns a table in Markdown. */
export const markdownTable = (headings: readonly string[], rows: readonly (readonly string[])[]): string =>
  [headings, headings.map(() => '---'), ...rows]
    .map((cells) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`)
    .join('\n')

/**
 * Returns a page in HTML. A heading or a list item can end with its id, `{#id}`. Consecutive fenced blocks in
 * LANGUAGES are one example, which shows one language at a time. A word after the language names the file.
 * @param pageHref returns the address of another page by its slug.
 * @throws Error for a fenced block of an unknown kind.
 */
export function renderMarkdown(markdown: string, pageHref: (page: string) => string): string {
  const marked = createMarked(pageHref)
  const html: string[] = []
  let example: Tokens.Code[] = []
  const endExample = () => {
    if (example.length > 0) html.push(languageTabs(example, html.length))
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
  token.type === 'code' && fenceWords(token as Tokens.Code)[0] in LANGUAGES

function createMarked(pageHref: (page: string) => string): Marked {
  return new Marked({
    // An address in a sentence is an example, not a link.
    tokenizer: { url: () => undefined },
    renderer: {
      heading({ text, tokens, depth }) {
        const [, id = headingId(text)] = ID.exec(text) ?? []
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
        const target = page === undefined ? href : pageHref(page) + anchor
        return `<a href="${escapeHtml(target)}">${this.parser.parseInline(tokens)}</a>`
      },
      // A wide table scrolls in its own box, which the keyboard can reach.
      table(token) {
        const label = escapeHtml(token.header.map(({ text }) => text).join(', '))
        const html = Renderer.prototype.table.call(this, token)
        return `<div class="table" tabindex="0" role="group" aria-label="${label}">${html}</div>`
      },
    },
  })
}

const ID = / \{#(\S+)\}$/

/** Returns the id of a heading without `{#id}`. A colon is kept, because scopes contain one. */
const headingId = (heading: string): string =>
  heading
    .toLowerCase()
    .replaceAll(/[^a-z0-9:_]+/g, '-')
    .replaceAll(/^-|-$/g, '')

const fenceWords = ({ lang = '' }: Tokens.Code): [kind: string, file?: string] =>
  lang.split(' ') as [string, string?]

function figure(token: Tokens.Code): string {
  const [kind, file] = fenceWords(token)
  const caption = file ?? LANGUAGES[kind] ?? BLOCK_CAPTIONS[kind]
  if (caption === undefined) throw new Error(`the documentation has no blocks of ${kind}`)
  const label = file !== undefined && kind in LANGUAGES ? `${LANGUAGES[kind]}: ${file}` : caption
  const code = `<code>${escapeHtml(token.text)}</code>`
  const pre = `<pre tabindex="0" role="group" aria-label="${label}">${code}</pre>`
  return `<figure class="code" data-kind="${kind}"><figcaption>${caption}</figcaption>${pre}</figure>`
}

/** Returns one example in one or more languages. `id` tells the examples of a page apart. */
function languageTabs(blocks: readonly Tokens.Code[], id: number): string {
  if (blocks.length === 1) return figure(blocks[0] as Tokens.Code)
  const tabs = blocks.map((token, index) => {
    const [language] = fenceWords(token)
    const attributes = `name="example-${id}"${index === 0 ? ' open' : ''}`
    return `<details ${attributes}><summary>${LANGUAGES[language]}</summary>${figure(token)}</details>`
  })
  return `<div class="languages">${tabs.join('\n')}</div>`
}
