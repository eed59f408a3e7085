// Runs before the first paint, so that a chosen theme does not flash. The console keeps the choice in `headgate-theme`.
try {
  const theme = localStorage.getItem('headgate-theme');
  if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme;
} catch {
  // Storage is blocked: the theme of the system applies.
}
