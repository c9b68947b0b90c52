// The theme is set before anything is drawn, so that nothing flashes. The console keeps it under the same name.
(function () {
  document.documentElement.classList.add('scripts');
  let chosen = null;
  try {
    chosen = localStorage.getItem('taskrt.theme');
  } catch {
    // A browser that keeps nothing follows the system.
  }
  if (chosen === 'light' || chosen === 'dark') document.documentElement.dataset.theme = chosen;
})();
