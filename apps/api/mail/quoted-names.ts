/** Controls, marks of direction and other invisible characters. What joins letters and emoji stays. */
const INVISIBLE =
  /[[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Noncharacter_Code_Point}\p{Default_Ignorable_Code_Point}]--[\u200C\u200D\p{Variation_Selector}]]/gv
const DOUBLE_QUOTES = /["“”„‟″〝〞〟＂]/g
const SUBJECT_NAME_MAX_CHARACTERS = 60
/** As long as the name of a client may be. */
const NAME_MAX_CHARACTERS = 100

/**
 * Returns a name that a person chose as one line of visible text. Nothing in it ends a quotation, or is an
 * encoded word of a header (RFC 2047).
 */
function cleanName(name: string, max = NAME_MAX_CHARACTERS): string {
  const line = name
    .replace(/[\p{Cc}\p{Zl}\p{Zp}]/gu, ' ')
    .replace(INVISIBLE, '')
    .replace(/\s+/g, ' ')
    .replace(DOUBLE_QUOTES, "'")
    .replaceAll('=?', '= ?')
    .trim()
  const characters = [...line]
  return characters.length > max
    ? `${characters
        .slice(0, max - 1)
        .join('')
        .trimEnd()}…`
    : line
}

/** Returns a name for the subject of a mail, which no mail program searches for links. */
export const inSubject = (name: string): string => `“${cleanName(name, SUBJECT_NAME_MAX_CHARACTERS)}”`

/**
 * Returns a name for the text of a mail. Mail programs make links of what looks like an address, so a space
 * follows what an address needs: “shop. example”, “https: //shop. example”, “kim@ shop. example”.
 */
export const quoted = (name: string): string =>
  `“${cleanName(name).replace(/[.。．｡](?=\p{L})|:(?=[/\p{L}])|@(?=\S)/gu, '$& ')}”`
