import { diff } from 'node:util'
import type { Locator, Page } from 'playwright-core'

/** What a page says beside its place: in regions that are read out when they change. */
const LIVE = '#root :is([role=status], [role=alert], [role=log], [aria-live])'

/** For what a click may have just replaced. */
const TIMEOUT = { timeout: 2_000 }

/** What is open: a dialog or a menu; if none is, the page without its bars. */
async function findPlace(page: Page) {
  const over = page.getByRole('dialog').or(page.getByRole('menu'))
  return (await over.count()) > 0 ? over.last() : page.locator('main')
}

/** What stands on one line with all that is in it. */
const ROW = /^- '?(?:row|combobox|listbox)\b.*:$/
const CELL = /^- (?=rowheader|columnheader|cell)/
/** A cell is named by what is in it, and so is its row. */
const NAMED_BY_CONTENT = /^- '?(row|rowheader|columnheader|cell)\b.*:$/

/** Returns what a part says to a screen reader: by line, but a row of a table or a select on one. */
export async function wordsOf(part: Locator): Promise<string> {
  const lines: string[] = []
  let rowIndent = Number.POSITIVE_INFINITY
  for (const line of (await part.ariaSnapshot(TIMEOUT)).split('\n')) {
    const indent = line.search(/\S/)
    const node = line.trim().replace(NAMED_BY_CONTENT, '- $1')
    if (indent > rowIndent || node.startsWith('- /url:')) {
      const within = node.replace('- /url:', '→').replace(CELL, '| ').replace(/^- /, '')
      lines.push(`${lines.pop()} ${within}`)
    } else {
      lines.push(' '.repeat(indent) + node)
      rowIndent = ROW.test(line.trim()) ? indent : Number.POSITIVE_INFINITY
    }
  }
  return lines.join('\n')
}

/** Returns what a dialog or a menu says to a screen reader; if none is open, the page without its bars. */
export const readWords = async (page: Page): Promise<string> => wordsOf(await findPlace(page))

/**
 * Returns all that a person meets after a step: the address and title of the page, where the focus is and how
 * that is described, what was read out elsewhere, and the words of what is open.
 */
export async function readStep(page: Page): Promise<string> {
  const place = await findPlace(page)
  const { href, title, description, said } = await place.evaluate(
    (it, live) => {
      const words = (element: Element | null) => element?.textContent?.trim() ?? ''
      const describedBy = document.activeElement?.getAttribute('aria-describedby')?.split(' ') ?? []
      return {
        href: location.pathname + location.search + location.hash,
        title: document.title,
        description: describedBy.map((id) => words(document.getElementById(id))).join(' '),
        said: [...document.querySelectorAll(live)].filter((region) => !it.contains(region)).map(words),
      }
    },
    LIVE,
    TIMEOUT,
  )
  const focused = page.locator(':focus')
  const focus = (await focused.count()) > 0 ? await focused.ariaSnapshot(TIMEOUT) : 'nothing'
  return [
    `${href} | ${title}`,
    `focus: ${focus.split('\n', 1)[0]?.replace(/^- |:$/g, '')}${description && ` (${description})`}`,
    ...said.filter((text) => text !== '').map((text) => `said: ${text}`),
    await wordsOf(place),
  ].join('\n')
}

/** Returns which lines of a text are new or gone, or the text if that is shorter. */
export function changesOf(before: string, text: string): string {
  const changed = diff(text.split('\n'), before.split('\n')).filter(([kind]) => kind !== 0)
  const changes = changed.map(([kind, line]) => `${kind === 1 ? '>' : '<'} ${line}`).join('\n')
  return changes.length < text.length ? changes : text
}

/** What an element has that is no word: for the browser, and for those who point at it. Drawings, too. */
const DETAILS =
  'title datetime type name min max rows autocomplete spellcheck dir placeholder inputmode accept readonly ' +
  'download aria-sort aria-current aria-live aria-controls aria-describedby aria-keyshortcuts viewBox d'

/** Returns these details of what is open, by the words of each element. */
export async function readDetails(page: Page): Promise<string> {
  const place = await findPlace(page)
  return place.evaluate(
    (it, names) => {
      const textsOf = (ids: string) =>
        ids.split(' ').map((id) => document.getElementById(id)?.textContent ?? 'NOTHING')
      const write = (element: Element, name: string) => {
        const value = element.getAttribute(name) ?? ''
        return /describedby|controls/.test(name) ? textsOf(value).join(' ').slice(0, 60) : value
      }
      // Whether a column ends with its figures, and whether a button looks like a link.
      const lookOf = (element: Element) => {
        if (!element.matches('button, thead th, tbody tr:first-child > *')) return ''
        const { textAlign, textDecorationLine } = getComputedStyle(element)
        return (textAlign === 'end' ? ' end' : '') + (textDecorationLine === 'none' ? '' : ' underlined')
      }
      return [...it.querySelectorAll('*')]
        .filter((element) => !element.closest('svg:not([viewBox*=" 100"], a > svg)'))
        .map((element) => {
          const details = names.filter((name) => element.hasAttribute(name))
          const label = (element as HTMLInputElement).labels?.[0]?.textContent
          const text = element.getAttribute('aria-label') ?? label ?? element.textContent ?? ''
          const shown = details.map((name) => ` ${name}=${write(element, name)}`).join('') + lookOf(element)
          return shown !== '' ? `${element.localName} “${text.slice(0, 40)}”${shown}` : ''
        })
        .filter((line) => line !== '')
        .join('\n')
    },
    DETAILS.split(' '),
    TIMEOUT,
  )
}

/**
 * Returns how what is open looks, or another part: each look of a text, an icon, a drawing or a box, by what
 * has it, and how each box lays out what is in it.
 */
export async function readLook(page: Page, part?: Locator): Promise<string> {
  const place = part ?? (await findPlace(page))
  return place.evaluate(
    (it) => {
      const looks = new Map<string, Set<string>>()
      for (const element of it.querySelectorAll<HTMLElement>('*:not(svg *), path[class]')) {
        // Chromium crashes when asked for the style of some parts of a closed <details>.
        if (!element.checkVisibility()) continue
        const style = getComputedStyle(element)
        const ownText = [...element.childNodes]
          .map((it) => (it.nodeType === 3 ? it.textContent : ''))
          .join('')
          .trim()
        const sides = ['top', 'right', 'bottom', 'left'].filter(
          (side) => style.getPropertyValue(`border-${side}-width`) !== '0px',
        )
        const colors = new Set(sides.map((side) => style.getPropertyValue(`border-${side}-color`)))
        const shadow = style.boxShadow.replaceAll(/rgba\(0, 0, 0, 0\)(?: 0px){4}(?:, )?/g, '')
        const look = [
          element.matches('path') && `fill ${style.fill}`,
          ownText && `${style.fontSize} ${style.fontWeight} ${style.color}`,
          element.matches('svg[width]') && `icon ${style.inlineSize} ${style.color}`,
          sides.length > 0 && `border ${style.borderWidth} ${[...colors].join(' ')}`,
          style.backgroundColor !== 'rgba(0, 0, 0, 0)' && `on ${style.backgroundColor}`,
          style.backgroundImage !== 'none' && style.backgroundImage,
          /\d/.test(shadow) && `shadow ${shadow}`,
          style.outlineStyle !== 'none' && `outline ${style.outline}`,
          style.opacity !== '1' && `opacity ${style.opacity}`,
        ]
        const shown = style.clipPath === 'none' ? look.filter(Boolean).join(' ') : 'not seen'
        const layout = /flex/.test(style.display)
          ? `${style.flexDirection} ${style.flexWrap}`
          : /grid/.test(style.display) && `grid of ${style.gridTemplateColumns.split(' ').length}`
        const named = element.closest('[aria-label]')?.ariaLabel ?? element.parentElement?.textContent
        const label = (element as HTMLInputElement).labels?.[0]?.textContent
        const words = (element.ariaLabel ?? label) || element.textContent || named
        const name = (ownText || `<${element.localName}> ${words}`)
          .replaceAll(/\s+/g, ' ')
          .slice(0, 30)
          .trim()
        const laid = layout && `${layout}, gap ${style.gap}, ${style.alignItems} ${style.justifyContent}`
        for (const found of [shown, shown !== 'not seen' && laid])
          if (found) looks.set(found, (looks.get(found) ?? new Set()).add(name))
      }
      return Array.from(looks, ([look, names]) => `${look}: ${[...names].join(' | ')}`).join('\n')
    },
    null,
    TIMEOUT,
  )
}
