// What pages can do where scripts run: the menu of narrow windows, the theme, the key /, and a button that copies a block.
const root = document.documentElement;

const menu = document.querySelector('.menu');
const opener = document.querySelector('.menu-button');
opener.addEventListener('click', () => {
  const open = menu.classList.toggle('open');
  opener.setAttribute('aria-expanded', String(open));
});

const theme = document.querySelector('.theme');
theme.value = root.dataset.theme || 'system';
theme.addEventListener('change', () => {
  const system = theme.value === 'system';
  if (system) delete root.dataset.theme;
  else root.dataset.theme = theme.value;
  try {
    if (system) localStorage.removeItem('taskrt.theme');
    else localStorage.setItem('taskrt.theme', theme.value);
  } catch {
    // It holds for this page only.
  }
});

addEventListener('keydown', (e) => {
  if (e.key !== '/' || e.ctrlKey || e.metaKey || e.altKey || /^(INPUT|TEXTAREA|SELECT)$/.test(e.target.tagName)) return;
  e.preventDefault();
  const field = document.getElementById('q');
  field.focus();
  field.select();
});

// The page that is open is seen in a menu that is longer than the window.
const here = menu.querySelector('[aria-current]');
if (here && here.offsetTop + here.offsetHeight > menu.clientHeight) menu.scrollTop = here.offsetTop - menu.clientHeight / 2;

if (navigator.clipboard) {
  for (const block of document.querySelectorAll('article pre')) {
    const button = document.createElement('button');
    button.type = 'button';
    button.className = 'copy';
    button.textContent = 'Copy';
    button.addEventListener('click', async () => {
      try {
        await navigator.clipboard.writeText(block.innerText);
        button.textContent = 'Copied';
      } catch {
        button.textContent = 'Not allowed';
      }
    });
    const frame = document.createElement('div');
    frame.className = 'block';
    block.replaceWith(frame);
    frame.append(block, button);
  }
}
