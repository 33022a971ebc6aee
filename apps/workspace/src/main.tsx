import '@fontsource-variable/atkinson-hyperlegible-next/wght.css'
import '@fontsource-variable/atkinson-hyperlegible-mono/wght.css'
import './styles/index.css'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { checkNewSession, checkSession } from './api/session.ts'
import { App } from './app.tsx'
import { landing } from './session/openid.ts'
import { keepFocus } from './ui/focus.ts'

void (landing === 'done' ? checkNewSession() : checkSession())
keepFocus()
createRoot(document.getElementById('root') as HTMLElement).render(
  <StrictMode>
    <App />
  </StrictMode>,
)
