// What stands around every page: the menu, the namespace, the state of the connection, the theme, and who is signed in.
import { html, useState, useEffect, useRef } from '../core/html.js';
import { useRoute, href, go, goQuery, namespaceOf, inSpace } from '../core/route.js';
import { useStore, kept } from '../core/store.js';
import { connection, index } from '../core/api.js';
import { clockOffset, length } from '../core/clock.js';
import { useLoad } from '../core/load.js';
import { useMe, may, signOut, askMe } from '../core/me.js';
import { count } from './ui.js';

/** The pages of the menu: [path, name, needs, everywhere]. */
const menu = [
  ['Work', [['tasks', 'Tasks', ['read', 'submit']], ['failures', 'Failures', ['read']], ['jobs', 'Jobs', ['operate', 'submit', 'read']], ['operations', 'Operations', ['read', 'submit']], ['behaviors', 'Behaviors', ['read', 'submit', 'deploy', 'operate', 'work']], ['submit', 'Submit', ['submit']]]],
  ['Cluster', [['workers', 'Workers', ['read'], true], ['cluster', 'Nodes', ['read'], true], ['namespaces', 'Namespaces', []], ['maintenance', 'Maintenance', ['read'], true], ['backups', 'Backups', ['admin'], true]]],
  ['Access', [['tokens', 'Tokens', ['admin']], ['audit', 'Audit', ['admin'], true]]],
];

export function Shell({ pages, children }) {
  const route = useRoute();
  const who = useMe();
  const [open, setOpen] = useState(false);
  const namespace = namespaceOf(route);
  const main = useRef();
  const here = route.path[0] || 'tasks';
  const first = useRef(true);
  useEffect(() => {
    setOpen(false);
    if (first.current) {
      first.current = false;
      return;
    }
    main.current?.querySelector('h1')?.focus({ preventScroll: true });
    scrollTo(0, 0);
  }, [route.path.join('/')]);
  const allowed = ([path, , roles, everywhere]) => pages.has(path) && (!roles.length || may(who, roles, everywhere ? { everywhere } : { namespace }))
    && (!['tokens', 'audit'].includes(path) || who.state !== 'open');
  return html`
    <a class="skip" href="#main" onClick=${(e) => { e.preventDefault(); main.current.focus(); }}>Skip to the content</a>
    <header class="top">
      <button class="menu-button" aria-expanded=${open ? 'true' : 'false'} aria-controls="menu" onClick=${() => setOpen(!open)}><span class="sr">Menu</span><${Bars} /></button>
      <a class="brand" href=${href(['tasks'], inSpace(namespace))}><span class="mark" aria-hidden="true">t</span>taskrt</a>
      <${Spaces} namespace=${namespace} />
      <${Jump} namespace=${namespace} />
      <${Connection} />
      <${Theme} />
    </header>
    <div class="frame">
      <nav id="menu" class=${open ? 'menu open' : 'menu'} aria-label="Pages">
        ${menu.map(([name, entries]) => {
          const shown = entries.filter(allowed);
          return shown.length > 0 && html`<p class="menu-head" id="menu-${name}">${name}</p><ul aria-labelledby="menu-${name}">${shown.map(([path, text]) => html`
            <li><a href=${href([path], inSpace(namespace))} aria-current=${here === path ? 'page' : undefined}>${text}</a></li>`)}</ul>`;
        })}
        <p class="menu-head" id="menu-help">Help</p><ul aria-labelledby="menu-help"><li><a href="docs/">Documentation</a></li></ul>
        <${Account} who=${who} />
      </nav>
      <main id="main" ref=${main} tabindex="-1">${children}</main>
    </div>`;
}

const Bars = () => html`<svg width="20" height="20" viewBox="0 0 20 20" aria-hidden="true"><path d="M3 6h14M3 10h14M3 14h14" stroke="currentColor" stroke-width="1.6" stroke-linecap="round"/></svg>`;

/** The namespaces that one may see. */
function Spaces({ namespace }) {
  const route = useRoute();
  const { data } = useLoad('v1/namespaces', {}, { every: 60e3 });
  const names = (data?.namespaces || []).map((n) => n.name);
  if (!names.includes(namespace)) names.push(namespace);
  const choose = (e) => {
    const query = inSpace(e.target.value);
    if (route.path.length > 1) go([route.path[0]], query);
    else goQuery(query);
  };
  return html`<label class="spaces"><span>Namespace</span><select value=${namespace} onChange=${choose}>${names.map((n) => html`<option value=${n} selected=${n === namespace}>${n}</option>`)}</select></label>`;
}

/** Goes to a task by its ID. The key / leads there. */
function Jump({ namespace }) {
  const field = useRef();
  useEffect(() => {
    const key = (e) => {
      if (e.key !== '/' || e.ctrlKey || e.metaKey || e.altKey || /^(INPUT|TEXTAREA|SELECT)$/.test(e.target.tagName) || document.querySelector('dialog[open]')) return;
      e.preventDefault();
      field.current.focus();
    };
    addEventListener('keydown', key);
    return () => removeEventListener('keydown', key);
  }, []);
  const jump = (e) => {
    e.preventDefault();
    const id = field.current.value.trim();
    if (!id) return;
    field.current.value = '';
    field.current.blur();
    go(['tasks', id], inSpace(namespace));
  };
  return html`<form class="jump" role="search" onSubmit=${jump}><label class="sr" for="jump">Go to a task by its ID</label>
    <input id="jump" ref=${field} type="search" placeholder="Go to a task ID" autocomplete="off" spellcheck="false" maxlength="128" /><kbd aria-hidden="true">/</kbd></form>`;
}

function Connection() {
  const state = useStore(connection);
  const at = useStore(index);
  const offset = clockOffset();
  const title = (at ? `This is of log index ${at} or later. ` : '') + (offset ? `The server's clock is ${length(Math.abs(offset))} ${offset > 0 ? 'ahead of' : 'behind'} this computer's; ages are by the server's.` : '');
  const text = state.ok ? 'connected' : state.problem?.code === 'no_leader' ? 'no leader' : state.problem?.code === 'offline' ? 'offline' : 'not ready';
  return html`<p class="connection ${state.ok ? 'ok' : 'bad'}" role="status" title=${title}><span class="dot" aria-hidden="true"></span><span>${text}</span>${at > 0 && html`<span class="index">#${count(at)}</span>`}${offset !== 0 && html`<span class="index">clock ${offset > 0 ? '+' : '−'}${length(Math.abs(offset))}</span>`}</p>`;
}

const themes = ['system', 'light', 'dark'];

/** The theme: that of the system, or one that this browser keeps. */
function Theme() {
  const [theme, setTheme] = useState(kept.get('theme') || 'system');
  const choose = (e) => {
    const to = e.target.value;
    kept.set('theme', to === 'system' ? null : to);
    if (to === 'system') delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = to;
    setTheme(to);
  };
  return html`<label class="theme"><span class="sr">Theme</span><select value=${theme} onChange=${choose}>${themes.map((t) => html`<option value=${t} selected=${t === theme}>${t}</option>`)}</select></label>`;
}

function Account({ who }) {
  if (who.state === 'open') return html`<p class="account"><strong>Open cluster</strong><br />Whoever reaches it may do everything.</p>`;
  if (who.state !== 'signed') return null;
  const t = who.token;
  const out = async () => {
    await signOut();
    await askMe().catch(() => {});
  };
  return html`<div class="account"><p class="account-head">Your token</p><p><strong>${t.subject || t.name}</strong></p>
    <p>${t.roles.join(', ')}</p><p class="where">in ${t.namespaces.join(', ')}${t.behaviors.includes('*') ? '' : html`<br />for ${t.behaviors.join(', ')}`}</p>
    ${t.expires_at && html`<p class="where">until ${new Date(t.expires_at).toLocaleString()}</p>`}<button class="quiet" onClick=${out}>Sign out</button></div>`;
}
