// The theme is set before anything is drawn, so that nothing flashes. It is a classic script: modules run after the first drawing.
(function () {
  let chosen = null;
  try {
    chosen = localStorage.getItem('taskrt.theme');
  } catch {
    // A browser that keeps nothing follows the system.
  }
  if (chosen === 'light' || chosen === 'dark') document.documentElement.dataset.theme = chosen;
})();
