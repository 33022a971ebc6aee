/*
 * uPlot makes a number format of navigator.language as it loads. Chromium on a Linux whose locale is C or POSIX says
 * en-US@posix there, which Intl refuses, and the screen would be lost. Imported before uPlot.
 */
try {
  new Intl.NumberFormat(navigator.language)
} catch {
  Object.defineProperty(navigator, 'language', { value: 'en', configurable: true })
}
