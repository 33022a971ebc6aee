// The pages can be read without it. The clipboard is closed outside secure contexts, such as plain HTTP on another
// machine: then the text is selected.
const COPIED_MS = 2_000

for (const figure of document.querySelectorAll('figure.code')) {
  const code = figure.querySelector('code')
  const button = document.createElement('button')
  const say = (text) => {
    button.textContent = text
    button.ariaLabel = `${text} ${code.parentElement.ariaLabel}`
  }
  say('Copy')
  button.type = 'button'
  button.className = 'copy'
  button.addEventListener('click', async () => {
    try {
      await navigator.clipboard.writeText(code.textContent)
      say('Copied')
    } catch {
      getSelection().selectAllChildren(code)
      say('Press Ctrl-C')
    }
    setTimeout(say, COPIED_MS, 'Copy')
  })
  figure.querySelector('figcaption').append(button)
}
