// Everything here is an addition: the pages can be read, and their languages chosen, without it.
// Before the first paint, so that a theme chosen in the workspace does not flash.
const COPIED_MS = 2_000
const RESULTS_MAX = 8
const SNIPPET_CHARACTERS = 110
const SNIPPET_BEFORE = 30

const stored = (name) => {
  try {
    return localStorage.getItem(name)
  } catch {
    return null
  }
}

/** Exactly what the fragment of a link may put into the examples: nothing that a shell or a program would run. */
const CLIENT = {
  client: /^cli_[A-Za-z0-9]{22}$/,
  company: /^ven_[A-Za-z0-9]{1,60}$/,
  scope: /^[a-z]+:(?:read|write)(?: [a-z]+:(?:read|write)){0,9}$/,
}

const theme = stored('theme')
if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme

document.addEventListener('DOMContentLoaded', () => {
  const client = clientOfTab()
  showCurrentTopic(document.querySelector('.nav'))
  rememberLanguage()
  for (const button of document.querySelectorAll('.copy')) offerCopy(button)
  offerSearch(document.querySelector('.search'))
  const form = document.querySelector('.try')
  if (form) offerTrial(form)
  if (client) fillIn(client)
})

/** The client that a link from the workspace named in its fragment. This tab remembers it. It holds no secret. */
function clientOfTab() {
  let text = new URLSearchParams(location.hash.slice(1)).has('client') ? location.hash.slice(1) : null
  try {
    if (text !== null) {
      history.replaceState(null, '', location.pathname + location.search)
      sessionStorage.setItem('client', text)
      const language = new URLSearchParams(text).get('language')
      if (language !== null && /^[a-z]{2,4}$/.test(language)) localStorage.setItem('language', language)
    }
    text ??= sessionStorage.getItem('client')
  } catch {}
  const client = Object.fromEntries(new URLSearchParams(text ?? ''))
  return Object.entries(CLIENT).every(([name, exactly]) => exactly.test(client[name])) ? client : undefined
}

/** Puts the client in place of the placeholders, and says so. */
function fillIn({ client, company, scope }) {
  let filled = false
  for (const code of document.querySelectorAll('figure code')) {
    const text = code.textContent
    if (!text.includes('cli_…')) continue
    code.textContent = text
      .replaceAll('cli_…', client)
      .replaceAll('ven_…', company)
      .replace(/(?<=INTEGRATION_SCOPE=)".*"/, `"${scope}"`)
    filled = true
  }
  const form = document.querySelector('.try')
  if (form) {
    // Defaults, because the form is reset when the page is left.
    form.elements.client_id.defaultValue = client
    for (const box of form.elements.scope) box.defaultChecked = scope.split(' ').includes(box.value)
    filled = true
  }
  if (!filled) return
  const note = document.createElement('blockquote')
  const button = named('button', 'Show placeholders')
  button.className = 'button'
  button.addEventListener('click', () => {
    sessionStorage.removeItem('client')
    location.reload()
  })
  note.append(
    'Filled in for the client ',
    named('code', client),
    ' of ',
    named('code', company),
    '. ',
    button,
  )
  document.querySelector('h1').after(note)
}

/** On a narrow screen the topics are one line, which scrolls. */
function showCurrentTopic(nav) {
  const current = nav.querySelector('[aria-current]')
  nav.scrollLeft = current.offsetLeft - nav.offsetLeft - 16
}

/** One choice for all examples of all pages. */
function rememberLanguage() {
  const choose = (language) => {
    for (const radio of document.querySelectorAll('.examples input')) {
      if (radio.value === language) radio.checked = true
    }
  }
  choose(stored('language'))
  document.addEventListener('change', ({ target }) => {
    if (!target.matches('.examples input')) return
    const top_px = target.getBoundingClientRect().top
    choose(target.value)
    // Examples above have changed their height.
    scrollBy(0, target.getBoundingClientRect().top - top_px)
    try {
      localStorage.setItem('language', target.value)
    } catch {}
  })
}

function offerCopy(button) {
  const code = button.closest('figure').querySelector('code')
  button.hidden = false
  button.addEventListener('click', async () => {
    button.textContent = (await copied(code)) ? 'Copied' : 'Press Ctrl-C'
    setTimeout(() => {
      button.textContent = 'Copy'
    }, COPIED_MS)
  })
}

/** The clipboard is closed outside secure contexts, such as plain HTTP on another machine: then the text is selected. */
async function copied(code) {
  try {
    await navigator.clipboard.writeText(code.textContent)
    return true
  } catch {
    getSelection().selectAllChildren(code)
    return false
  }
}

function offerSearch(search) {
  const input = search.querySelector('input')
  const results = search.querySelector('.results')
  const status = search.querySelector('[role=status]')
  let sections
  search.hidden = false

  const load = () => {
    sections ??= fetch(`${document.body.dataset.docs}/search.json`)
      .then((response) => response.json())
      .catch(() => {
        sections = undefined
        return []
      })
    return sections
  }
  const close = () => {
    results.hidden = true
  }
  async function show() {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean)
    const found = foundBy(await load(), words)
    results.replaceChildren(...(words.length === 0 ? [] : found.map(resultOf(words))))
    results.hidden = words.length === 0 || found.length === 0
    status.textContent =
      words.length === 0 ? '' : found.length === 0 ? 'Nothing found' : `${found.length} results`
  }
  input.addEventListener('focus', load)
  input.addEventListener('input', show)
  search.addEventListener('keydown', (event) => {
    const links = [input, ...results.querySelectorAll('a')]
    const at = links.indexOf(document.activeElement)
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (event.key === 'Escape') {
      close()
      input.focus()
    } else if (event.key === 'Enter' && at === 0 && !results.hidden) links[1]?.click()
    else if (step && !results.hidden) {
      event.preventDefault()
      links[Math.min(Math.max(at + step, 0), links.length - 1)].focus()
    }
  })
  search.addEventListener('focusout', ({ relatedTarget }) => {
    if (!search.contains(relatedTarget)) close()
  })
  document.addEventListener('keydown', (event) => {
    const typing = event.target.closest('input, textarea')
    if (event.key !== '/' || typing || event.ctrlKey || event.metaKey || event.altKey) return
    event.preventDefault()
    input.focus()
  })
}

/** Sections that hold every word, those with a word in the title first. */
function foundBy(sections, words) {
  const scored = sections.map(([href, page, title, text]) => {
    const places = [title, page, text].map((place) => place.toLowerCase())
    const [inTitle = '', inPage = ''] = places
    const holds = words.every((word) => places.some((place) => place.includes(word)))
    let score = holds ? 1 : 0
    for (const word of words) {
      if (inTitle.split(' ').includes(word)) score *= 8
      else if (inTitle.includes(word)) score *= 4
      if (inPage.includes(word)) score *= 2
    }
    return { href, page, title, text, score }
  })
  return scored
    .filter(({ score }) => score > 0)
    .sort((one, other) => other.score - one.score)
    .slice(0, RESULTS_MAX)
}

const resultOf =
  (words) =>
  ({ href, page, title, text }) => {
    const at = text.lastIndexOf(' ', Math.max(0, text.toLowerCase().indexOf(words[0]) - SNIPPET_BEFORE)) + 1
    const end = text.indexOf(' ', at + SNIPPET_CHARACTERS)
    const link = document.createElement('a')
    link.href = href
    link.append(
      named('strong', title === page ? title : `${page}: ${title}`),
      named('span', `${at > 0 ? '… ' : ''}${end < 0 ? text.slice(at) : `${text.slice(at, end)} …`}`),
    )
    const item = document.createElement('li')
    item.append(link)
    return item
  }

/** Sends the token request of a person's own client. Secret and token are kept in no storage, and in no address. */
function offerTrial(form) {
  const { tokenUrl, home, errors } = form.dataset
  const status = form.querySelector('[role=status]')
  const readButton = form.elements.read
  let token
  form.hidden = false

  async function send(url, options) {
    status.replaceChildren(named('p', 'Waiting for the answer …'))
    try {
      const response = await fetch(url, { ...options, credentials: 'omit', cache: 'no-store' })
      return { response, answer: await response.json() }
    } catch {
      status.replaceChildren(named('p', 'No answer came. Check the connection and try again.'))
      return undefined
    }
  }
  function show({ response, answer }, ...more) {
    const shown = 'access_token' in answer ? { ...answer, access_token: '(kept in this page)' } : answer
    const code = answer.error ?? answer.code
    const link = document.createElement('a')
    link.href = `${errors}#${answer.error ? 'oauth' : 'problem'}-${code}`
    link.textContent = `What ${code} means`
    status.replaceChildren(
      named('p', `${response.status}:`),
      named('pre', JSON.stringify(shown, null, 2)),
      ...(response.ok ? more : [link]),
    )
  }
  form.addEventListener('submit', async (event) => {
    event.preventDefault()
    const fields = new FormData(form)
    const body = new URLSearchParams({
      grant_type: 'client_credentials',
      client_id: fields.get('client_id').trim(),
      client_secret: fields.get('client_secret').trim(),
      scope: fields.getAll('scope').join(' '),
    })
    const sent = await send(tokenUrl, { method: 'POST', body })
    token = sent?.answer.access_token
    readButton.hidden = !token || !fields.getAll('scope').includes('analytics:read')
    if (!sent) return
    const claims = token && JSON.stringify(claimsOf(token), null, 2)
    show(sent, named('p', 'What the token says:'), named('pre', claims ?? ''))
  })
  readButton.addEventListener('click', async () => {
    const headers = { Authorization: `Bearer ${token}` }
    const sent = await send(`${home}v1/analytics/${claimsOf(token).vendor_id}/daily`, { headers })
    if (sent) show(sent)
  })
  addEventListener('pagehide', () => {
    token = undefined
    form.reset()
    status.replaceChildren()
    readButton.hidden = true
  })
}

const claimsOf = (token) => JSON.parse(atob(token.split('.')[1].replaceAll('-', '+').replaceAll('_', '/')))

function named(tag, text) {
  const element = document.createElement(tag)
  element.textContent = text
  return element
}
