// Who may do what, and who did what: tokens and the audit.
import { html, useState } from '../core/html.js';
import { goQuery } from '../core/route.js';
import { useLoad } from '../core/load.js';
import { useMe } from '../core/me.js';
import { Ask, cli } from '../parts/ask.js';
import { Table } from '../parts/table.js';
import { Text } from '../parts/text.js';
import { Copy, Dialog, Empty, Failed, Head, Loading, Stamp, When, count } from '../parts/ui.js';

const roles = [['read', 'see tasks, results, logs'], ['submit', 'create tasks and operations, and steer its own'], ['work', 'accept and finish tasks'], ['deploy', 'modules and behaviors'], ['operate', 'steer what others made, pause, maintenance'], ['admin', 'namespaces, tokens, members, backups']];

export function Tokens({ route }) {
  const who = useMe();
  const cursor = route.query.get('cursor') || '';
  const { data, error, loading, reload } = useLoad('v1/tokens', { limit: 100, cursor });
  const [asked, setAsked] = useState(null);
  const [made, setMade] = useState(null);
  const close = (changed, answer) => {
    setAsked(null);
    if (answer?.credential) setMade(answer);
    if (changed) reload();
  };
  const self = who.token?.name;
  return html`<${Head} title="Tokens" sub=${html`<span>kept as hashes; a token is shown once</span>`}><button class="primary" onClick=${() => setAsked({ verb: 'create' })}>Create a token</button></${Head}>
    ${error && html`<${Failed} error=${error} retry=${reload} />`}${!data && loading && html`<${Loading} />`}
    ${data && html`<${Table} label="Tokens" rows=${data.tokens} id=${(t) => t.name} columns=${[
      ['Token', (t) => html`<strong><${Text} of=${t.name} max=${64} /></strong>${t.name === self && html`<span class="mini">you</span>`}<span class="under">${t.subject || ''}</span>`, 'main-cell'], ['Roles', (t) => t.roles.join(', ')], ['Namespaces', (t) => t.namespaces.join(', ')], ['Behaviors', (t) => t.behaviors.join(', ')],
      ['Expires', (t) => html`<${When} time=${t.expires_at} none="never" />`], ['Made', (t) => html`<${When} time=${t.created_at} none="—" />${t.created_by && html`<span class="under">by ${t.created_by}</span>`}`],
      ['', (t) => t.name !== 'root' && html`<span class="row-actions"><button onClick=${() => setAsked({ verb: 'rotate', t })}>Rotate</button><button onClick=${() => setAsked({ verb: 'revoke', t })}>Revoke</button></span>`],
    ]} />`}
    <${Pager} cursor=${cursor} next=${data?.cursor} />
    ${asked && (asked.verb === 'create' ? html`<${Create} close=${close} />` : html`<${ChangeToken} asked=${asked} close=${close} />`)}
    ${made && html`<${Dialog} title="The token of ${made.name}" close=${() => setMade(null)}><p>It is shown this once. Whoever has it may do what it may.</p><div class="command-row"><pre class="command" tabindex="0">${made.credential}</pre><${Copy} text=${made.credential} /></div><div class="buttons"><button class="primary" onClick=${() => setMade(null)}>I have it</button></div></${Dialog}>`}`;
}

const Pager = ({ cursor, next }) => html`<nav class="pager" aria-label="Pages of the list">${cursor && html`<button onClick=${() => goQuery({})}>First page</button>`}${next && html`<button onClick=${() => goQuery({ cursor: next })}>Next</button>`}</nav>`;

function Create({ close }) {
  const [f, setF] = useState({ name: '', roles: ['read'], namespaces: '', behaviors: '', ttl: '' });
  const list = (text) => text.split(/[\s,]+/).filter(Boolean);
  const more = { ...(list(f.namespaces).length ? { namespaces: list(f.namespaces) } : {}), ...(list(f.behaviors).length ? { behaviors: list(f.behaviors) } : {}), ...(f.ttl.trim() ? { ttl: f.ttl.trim() } : {}) };
  const body = { name: f.name.trim(), roles: f.roles, ...more };
  const words = ['token', 'create', body.name || 'NAME', ...f.roles.flatMap((r) => ['--role', r]), ...list(f.namespaces).flatMap((n) => ['--namespace', n]), ...list(f.behaviors).flatMap((b) => ['--behavior', b]), ...(f.ttl.trim() ? ['--ttl', f.ttl.trim()] : [])];
  const toggle = (r) => setF({ ...f, roles: f.roles.includes(r) ? f.roles.filter((x) => x !== r) : [...f.roles, r] });
  const field = (name, label, hint) => html`<label for=${name}>${label} <span class="none">(${hint})</span></label><input id=${name} value=${f[name]} onInput=${(e) => setF({ ...f, [name]: e.target.value })} autocomplete="off" spellcheck="false" />`;
  return html`<${Ask} title="Create a token" verb="Create" request=${{ method: 'POST', path: 'v1/tokens', body }} command=${cli(words)} done="The token is made." close=${close} check=${() => (!body.name ? 'It needs a name.' : !f.roles.length ? 'It needs a role.' : '')}>
    ${field('name', 'Name', '2 to 64 of a-z 0-9 - _ .')}
    <fieldset class="roles"><legend>Roles</legend>${roles.map(([r, text]) => html`<p class="check"><input type="checkbox" id="role-${r}" checked=${f.roles.includes(r)} onChange=${() => toggle(r)} /><label for="role-${r}"><strong>${r}</strong> <span class="none">${text}</span></label></p>`)}</fieldset>
    ${field('namespaces', 'Namespaces', 'names, or beginnings and *; empty: all')}${field('behaviors', 'Behaviors', 'likewise; empty: all')}${field('ttl', 'Holds for', 'like 720h; empty: until it is revoked')}</${Ask}>`;
}

function ChangeToken({ asked, close }) {
  const { verb, t } = asked;
  const path = `v1/tokens/${encodeURIComponent(t.name)}`;
  if (verb === 'revoke') return html`<${Ask} title="Revoke ${t.name}?" verb="Revoke" danger request=${{ method: 'DELETE', path }} command=${cli(['token', 'revoke', t.name])} done="The token holds no more." close=${close}><p>It opens nothing any more, on any node. Streams and waits that it has open end.</p></${Ask}>`;
  return html`<${Ask} title="Give ${t.name} another secret?" verb="Rotate" request=${{ method: 'POST', path: path + '/rotate', body: {} }} command=${cli(['token', 'rotate', t.name])} done="The token has another secret." close=${close}><p>The former one holds for another hour.</p></${Ask}>`;
}

export function Audit({ route }) {
  const { query } = route;
  const f = Object.fromEntries(['token', 'route', 'namespace_', 'refused', 'cursor'].map((n) => [n, query.get(n) || '']));
  const { data, error, loading, reload } = useLoad('v1/audit', { token: f.token, route: f.route, namespace: f.namespace_, refused: f.refused, cursor: f.cursor, limit: 100 }, { every: f.cursor ? 0 : 5000 });
  const all = data?.records || [];
  const find = (e) => {
    e.preventDefault();
    goQuery(Object.fromEntries(new FormData(e.target)));
  };
  return html`<${Head} title="Audit" sub=${html`<span>who changed what with deploy, operate or admin, in the order of the log</span>`} />
    <form class="filter-row audit-filter" onSubmit=${find}><label class="inline">Token <input name="token" value=${f.token} autocomplete="off" /></label><label class="inline">Namespace <input name="namespace_" value=${f.namespace_} autocomplete="off" /></label><label class="inline">Route <input name="route" value=${f.route} placeholder="POST /v1/tokens" autocomplete="off" /></label>
      <label class="inline">Show <select name="refused" value=${f.refused}><option value="" selected=${!f.refused}>all</option><option value="false" selected=${f.refused === 'false'}>changes</option><option value="true" selected=${f.refused === 'true'}>refusals</option></select></label><button>Filter</button></form>
    ${error && html`<${Failed} error=${error} retry=${reload} />`}${!data && loading && html`<${Loading} />`}
    ${data && !all.length && html`<${Empty} title="No record is like that"><p>Changes stand here as soon as they are applied.</p></${Empty}>`}
    ${all.length > 0 && html`<${Table} label="Audit" rows=${all} id=${(r) => r.number} columns=${[
      ['Number', (r) => count(r.number), 'num'], ['When', (r) => html`<${Stamp} time=${r.at} />`], ['Who', (r) => html`<strong><${Text} of=${r.token || 'the cluster secret'} max=${64} /></strong><span class="under">${r.from || ''}</span>`], ['What', (r) => html`<code>${r.route}</code><span class="under"><${Text} of=${r.target || ''} max=${160} /></span>`, 'main-cell'],
      ['Outcome', (r) => (r.code ? html`<code class="err">${r.code}</code>${r.requests ? html`<span class="under">${count(r.requests)} requests</span>` : ''}` : 'done')],
    ]} />`}
    <${Pager} cursor=${f.cursor} next=${data?.cursor} />`;
}
