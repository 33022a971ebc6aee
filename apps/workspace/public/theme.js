// Runs before the first paint, so that a chosen theme does not flash. Otherwise the system's theme applies.
try {
  const theme = localStorage.getItem('theme')
  if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme
} catch {}
