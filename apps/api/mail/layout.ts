/** What a mail says, in plain text. Names are in “”. */
export interface MailLayout {
  subject: string
  /** A list is an array. */
  paragraphs: readonly (string | readonly string[])[]
  /** The mail's only link: where the thing can be done. */
  action: readonly [label: string, url: string]
  /** Completes "You received this email because". */
  because: string
}

export interface MailText {
  subject: string
  text: string
  html: string
}

/** Returns both parts of a mail, from the same sentences. Nothing in it is fetched from elsewhere. */
export function layOut({ subject, paragraphs, action, because }: MailLayout): MailText {
  const reason = `You received this email because ${because}`
  const blocks = paragraphs.map((block) =>
    typeof block === 'string' ? block : block.map((item) => `- ${item}`).join('\n'),
  )
  return {
    subject,
    text: `${[...blocks, action.join(':\n'), reason].join('\n\n')}\n`,
    html: toHtml({ subject, paragraphs, action, because: reason }),
  }
}

const FONT = "font-family:-apple-system,'Segoe UI',Roboto,Helvetica,Arial,sans-serif"

/** Gmail and Outlook ignore the rules for dark screens, and darken the colours of the elements themselves. */
const DARK = `
:root{color-scheme:light dark;supported-color-schemes:light dark}
@media (prefers-color-scheme:dark){
body,.page{background:#111513!important;color:#e8ede9!important}
.sheet{background:#181d1a!important;border-color:#2a322d!important}
.button{background:#cde64a!important;color:#1b2410!important}
.quiet{color:#96a39a!important}}`

function toHtml({ paragraphs, action, because }: MailLayout): string {
  const blocks = paragraphs.map((block) =>
    typeof block === 'string'
      ? `<p style="margin:0 0 16px">${inHtml(block)}</p>`
      : `<ul style="margin:0 0 16px;padding:0 0 0 20px">${block
          .map((item) => `<li style="margin:0 0 6px">${inHtml(item)}</li>`)
          .join('')}</ul>`,
  )
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark">
<meta name="supported-color-schemes" content="light dark">
<meta name="format-detection" content="telephone=no,date=no,address=no,email=no,url=no">
<style>${DARK}</style>
</head>
<body style="margin:0;background:#f3f5f1;color:#17201c">
<div class="page" style="padding:24px 12px;background:#f3f5f1;color:#17201c;${FONT};font-size:16px;line-height:1.5">
<div style="max-width:560px;margin:0 auto">
<p class="quiet" style="margin:0 0 12px;font-size:14px;font-weight:600;color:#5c6861">Integration Access</p>
<div class="sheet" style="padding:24px 24px 28px;background:#ffffff;border:1px solid #d9ded7;border-radius:8px;overflow-wrap:anywhere">
${blocks.join('\n')}
<p style="margin:24px 0 0"><a class="button" href="${inHtml(action[1])}" style="display:inline-block;padding:10px 18px;border-radius:6px;background:#17201c;color:#ffffff;font-weight:600;text-decoration:none">${inHtml(action[0])}</a></p>
</div>
<p class="quiet" style="margin:12px 0 0;font-size:13px;color:#5c6861">${inHtml(because)}</p>
</div>
</div>
</body>
</html>
`
}

/** Returns text as HTML. A name keeps its own direction, whatever script it is in. */
const inHtml = (text: string): string =>
  text
    .replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
    .replaceAll('“', '“<bdi>')
    .replaceAll('”', '</bdi>”')
