// Adds a copy button to each example. Browsers refuse the clipboard outside secure contexts, such as plain
// HTTP on another machine. The text is selected there instead.
const COPIED_MS = 2_000

for (const figure of document.querySelectorAll('figure.code')) {
  const code = figure.querySelector('code')
  const button = document.createElement('button')
  const setLabel = (text) => {
    button.textContent = text
    button.ariaLabel = `${text} ${code.parentElement.ariaLabel}`
  }
  setLabel('Copy')
  button.type = 'button'
  button.className = 'copy'
  button.addEventListener('click', async () => {
    try {
      await navigator.clipboard.writeText(code.textContent)
      setLabel('Copied')
    } catch {
      getSelection().selectAllChildren(code)
      setLabel('Press Ctrl-C')
    }
    setTimeout(setLabel, COPIED_MS, 'Copy')
  })
  figure.querySelector('figcaption').append(button)
}
