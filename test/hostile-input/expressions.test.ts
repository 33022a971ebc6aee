import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { type AST, parseRegExpLiteral, visitRegExpAST } from '@eslint-community/regexpp'
import { analyse } from 'scslre'
import { parseAst } from 'vite'
import { EVERYTHING } from '../support/tier.ts'
import { assertLinear, type Shape } from './shapes.ts'

const SOURCES = [
  'apps/{auth,api}/**/*.ts',
  'shared/**/*.ts',
  'infra/**/*.ts',
  'apps/workspace/src/**/*.{ts,tsx}',
]
/** The most that reaches any of them in one piece: header fields, what is read of a receiver's answer. */
const LENGTH = 16 * 1_024
/**
 * Bad ones, each with a length at which it takes a few times what is measured as hopeless: far less would be
 * measured again and again, far more would take a minute.
 */
const BAD: [RegExp, length: number][] = [
  [/(?=\w*\d\w*[A-Z]\w*\d)\w{8,}/, 1_536],
  [/eyJ[\w-]{8,}\.[\w-]+/, 24 * 1_024],
  [/ +$/, 24 * 1_024],
  [/"[^>]{0,2000}>/, 48 * 1_024],
]

/** Expressions that are built at run time, and their parts: literals, each checked on its own. */
const PUT_TOGETHER: Record<string, string> = {
  'apps/api/guarded-fetch/secret-shapes.ts': 'the shapes of secrets, with the flag g',
  'apps/api/sessions/access.ts': 'the shape of a session token, from start to end: a bounded length',
  'apps/api/sessions/cookie.ts': 'the same, or one run of plain characters, after one fixed name',
  'apps/api/sessions/link-token.ts': 'the shape of a token, from start to end: a bounded length',
}

type Found = { file: string; line: number; literal: RegExp }

const literals: Found[] = []
const putTogether = new Set<string>()
for (const file of globSync(SOURCES).sort()) {
  const text = readFileSync(file, 'utf8')
  const findLine = (start: number) => text.slice(0, start).split('\n').length
  visit(parseAst(text, { lang: file.endsWith('x') ? 'tsx' : 'ts' }, file), (node) => {
    if (node.regex) {
      const { pattern, flags } = node.regex
      literals.push({ file, line: findLine(node.start), literal: new RegExp(pattern, flags) })
    } else if (node.callee?.name === 'RegExp') putTogether.add(file)
  })
}

interface SourceNode {
  type: string
  start: number
  regex?: { pattern: string; flags: string }
  callee?: { name?: string }
}

function visit(node: unknown, onNode: (node: SourceNode) => void): void {
  if (Array.isArray(node)) for (const one of node) visit(one, onNode)
  if (typeof node !== 'object' || node === null || Array.isArray(node)) return
  if ('type' in node && 'start' in node) onNode(node as SourceNode)
  for (const child of Object.values(node)) visit(child, onNode)
}

/** Characters of every kind, of which those are taken that a set in an expression holds. */
const REPRESENTATIVES = [...'aZ0_-./ \n"\':=<&+~@%\\,[{\u001b\u009d\u200bä']

/** A text that an element of an expression matches, if it is not a rare one. */
function buildExample(element: AST.Element, flags: string): string {
  switch (element.type) {
    case 'Character':
      return String.fromCodePoint(element.value)
    case 'Group':
    case 'CapturingGroup':
      return exampleOfAll(element.alternatives[0]?.elements ?? [], flags)
    case 'Quantifier':
      return buildExample(element.element, flags).repeat(Math.max(1, Math.min(element.min, 64)))
    case 'CharacterSet':
    case 'CharacterClass':
    case 'ExpressionCharacterClass':
      return listCharacters(element.raw, flags)[0] ?? ''
    default:
      return ''
  }
}

const exampleOfAll = (elements: readonly AST.Element[], flags: string): string =>
  elements.map((element) => buildExample(element, flags)).join('')

function listCharacters(raw: string, flags: string): string[] {
  const set = new RegExp(`^(?:${raw})$`, flags.replace(/[gym]/g, ''))
  return REPRESENTATIVES.filter((character) => set.test(character))
}

const UNITS_MAX = 16
const PUMPS_MAX = 5

/** Inputs built from the expression itself: what it repeats, what precedes that, and several in a row. */
function attacksOn(expression: RegExp): Shape[] {
  const { flags } = expression
  const units = new Set<string>()
  const pumps = new Set<string>()
  visitRegExpAST(parseRegExpLiteral(expression), {
    onAlternativeEnter({ elements }) {
      elements.forEach((element, at) => {
        units.add(exampleOfAll(elements.slice(0, at + 1), flags))
        if (element.type !== 'Quantifier' || element.max < 16) return
        const repeated = element.element
        pumps.add(buildExample(repeated, flags))
        if ('raw' in repeated && repeated.type.includes('Character'))
          for (const character of listCharacters(repeated.raw, flags).slice(0, 4)) pumps.add(character)
      })
    },
  })
  const repeated = [...pumps].filter(Boolean).slice(0, PUMPS_MAX)
  const starts = [...units].filter(Boolean).slice(0, UNITS_MAX)
  const fill = (unit: string, length: number) => unit.repeat(Math.max(0, Math.ceil(length / unit.length)))
  const rows = [...starts, ...repeated, ...starts.flatMap((x) => repeated.map((y) => x + y))]
  const triples = repeated.flatMap((x) => repeated.flatMap((y) => repeated.map((z) => [x, y, z])))
  return [
    ...rows.map((unit) => (length: number) => fill(unit, length)),
    ...starts.flatMap((x) => repeated.map((y) => (length: number) => `${x}${fill(y, length)}\0`)),
    ...triples.map(
      (units) => (length: number) => `${units.map((unit) => fill(unit, length / 3)).join('')}\0`,
    ),
  ]
}

describe('the regular expressions of the product', () => {
  it('finds the regular expressions of the product', () => {
    assert.ok(literals.length > 100)
    assert.deepEqual([...putTogether].sort(), Object.keys(PUT_TOGETHER).sort())
  })

  it('detects a regular expression known to be bad', () => {
    // Minutes of a busy core: a bad one is measured again and again before it is called bad.
    for (const bad of [/(?:a+)+$/, /^a*a*$/, /a+$/])
      assert.notEqual(analyse(bad).reports.length, 0, String(bad))
    for (const [bad, length] of EVERYTHING ? BAD : BAD.slice(0, 1))
      assert.throws(() => attack(bad, length), { code: 'ERR_ASSERTION' }, String(bad))
  })

  for (const { file, line, literal } of literals)
    it(`takes linear time in ${file}:${line} ${String(literal).slice(0, 60)}`, () => {
      const reports = analyse(literal).reports.map(({ type }) => type)
      assert.deepEqual(reports, [])
      attack(literal)
    })
})

/** Applied as the product does it: to the whole text, or to one place in it if the expression is sticky. */
function attack(literal: RegExp, length = LENGTH): void {
  const all = new RegExp(literal.source, `${literal.flags.replace('g', '')}g`)
  const apply = literal.sticky
    ? (input: string) => {
        for (const place of [0, input.length]) {
          literal.lastIndex = place
          literal.test(input)
        }
      }
    : (input: string) => input.replace(all, '')
  for (const shape of attacksOn(literal)) assertLinear(apply, shape, length)
}
