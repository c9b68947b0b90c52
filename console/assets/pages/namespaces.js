// Namespaces: what they hold, what they may hold, and their status.
import { html, useState } from '../core/html.js';
import { href, inSpace } from '../core/route.js';
import { useLoad } from '../core/load.js';
import { useMe, may } from '../core/me.js';
import { Ask, cli } from '../parts/ask.js';
import { Meter, Table } from '../parts/table.js';
import { Badge, Failed, Head, Loading, count, size } from '../parts/ui.js';

export function Namespaces() {
  const who = useMe();
  const { data, error, loading, reload } = useLoad('v1/namespaces', {}, { every: 5000 });
  const [asked, setAsked] = useState(null);
  const close = (changed) => {
    setAsked(null);
    if (changed) reload();
  };
  const limit = (value, most, show) => html`${show(value)}${most > 0 ? html` <span class="none">/ ${show(most)}</span><br /><${Meter} value=${value} of=${most} label="${show(value)} of ${show(most)}" />` : ''}`;
  const actions = (n) => {
    if (n.name === '_system' || n.status === 'PURGING' || n.status === 'PURGED' || !may(who, 'admin', { namespace: n.name })) return '';
    return html`<span class="row-actions"><button onClick=${() => setAsked({ verb: 'set', n })}>Limits</button>${n.status === 'ACTIVE' ? html`<button onClick=${() => setAsked({ verb: 'deactivate', n })}>Deactivate</button>` : html`<button onClick=${() => setAsked({ verb: 'activate', n })}>Activate</button>${n.name !== 'default' && html`<button onClick=${() => setAsked({ verb: 'purge', n })}>Purge</button>`}`}</span>`;
  };
  return html`<${Head} title="Namespaces" sub=${html`<span>scopes of task IDs and behaviors, with quotas and a share of the slots</span>`}>${may(who, 'admin') && html`<button class="primary" onClick=${() => setAsked({ verb: 'create' })}>Create a namespace</button>`}</${Head}>
    ${error && html`<${Failed} error=${error} retry=${reload} />`}${!data && loading && html`<${Loading} />`}
    ${data && html`<${Table} label="Namespaces" rows=${data.namespaces} id=${(n) => n.name} columns=${[
      ['Namespace', (n) => html`<a href=${href(['tasks'], inSpace(n.name))}>${n.name}</a>`], ['Status', (n) => html`<${Badge} status=${n.status} />`], ['Tasks', (n) => limit(n.usage.tasks, n.quota.max_tasks, count), 'num'], ['Running', (n) => limit(n.usage.running, n.share.max_running, count), 'num'],
      ['Bytes', (n) => limit(n.usage.bytes, n.quota.max_bytes, size), 'num'], ['Operations', (n) => count(n.usage.operations), 'num'], ['Behaviors', (n) => count(n.usage.behaviors), 'num'], ['Weight', (n) => n.share.weight || 10, 'num'],
      ['Submits', (n) => (n.quota.submits_per_second ? `${count(n.quota.submits_per_second)} / s` : html`<span class="none">no limit</span>`), 'num'], ['Kept', (n) => html`${n.retention.success || '72h'} <span class="none">and</span> ${n.retention.failure || '336h'}`], ['', actions],
    ]} /><p class="note">Kept: how long successes and failures stay, where a behavior says nothing else.</p>`}
    ${asked && (asked.verb === 'create' || asked.verb === 'set' ? html`<${Limits} n=${asked.n} close=${close} />` : html`<${Status} verb=${asked.verb} n=${asked.n} close=${close} />`)}`;
}

const says = {
  activate: ['Activate', 'Tasks are taken and started again.', false], deactivate: ['Deactivate', 'Submits are refused, and nothing new starts. What runs finishes; all of it can be read.', false],
  purge: ['Purge', 'What runs is cancelled, and everything in it is removed. There is no way back.', true],
};

function Status({ verb, n, close }) {
  const [typed, setTyped] = useState('');
  const [word, text, danger] = says[verb];
  return html`<${Ask} title="${word} ${n.name}?" verb=${word} danger=${danger} request=${{ method: 'POST', path: `v1/namespaces/${n.name}/${verb}`, body: {} }} command=${cli(['namespace', verb, n.name])} done="${n.name}: it is done." close=${close} check=${() => (danger && typed !== n.name ? 'Type the name of the namespace.' : '')}>
    <p>${text}</p>${danger && html`<label for="typed">Type ${n.name} to go on</label><input id="typed" value=${typed} onInput=${(e) => setTyped(e.target.value)} autocomplete="off" />`}</${Ask}>`;
}

/** Creates a namespace, or changes its limits. */
function Limits({ n, close }) {
  const [f, setF] = useState({ name: '', max_tasks: n?.quota.max_tasks || '', max_bytes: n?.quota.max_bytes || '', submits_per_second: n?.quota.submits_per_second || '', weight: n?.share.weight || '', max_running: n?.share.max_running || '' });
  const number = (name) => Number(f[name]) || 0;
  const quota = { max_tasks: number('max_tasks'), max_bytes: number('max_bytes'), submits_per_second: number('submits_per_second') };
  const share = { weight: number('weight'), max_running: number('max_running') };
  const request = n ? { method: 'PATCH', path: `v1/namespaces/${n.name}`, body: { quota, share } } : { method: 'POST', path: 'v1/namespaces', body: { name: f.name.trim(), quota, share } };
  const field = (name, text, hint) => html`<label for=${name}>${text} <span class="none">(${hint})</span></label><input id=${name} type="number" min="0" step="1" inputmode="numeric" value=${f[name]} onInput=${(e) => setF({ ...f, [name]: e.target.value })} />`;
  return html`<${Ask} title=${n ? `Limits of ${n.name}` : 'Create a namespace'} verb=${n ? 'Change' : 'Create'} request=${request} done=${n ? 'The limits are changed.' : 'The namespace is created.'} close=${close} check=${() => (!n && !f.name.trim() ? 'It needs a name.' : '')}>
    ${!n && html`<label for="name">Name <span class="none">(3 to 64 of a-z 0-9 - _)</span></label><input id="name" value=${f.name} onInput=${(e) => setF({ ...f, name: e.target.value })} autocomplete="off" spellcheck="false" />`}
    ${field('max_tasks', 'Tasks', 'at most; empty: no limit')}${field('max_bytes', 'Bytes', 'of payloads and files; empty: no limit')}${field('submits_per_second', 'Submits per second', 'empty: no limit')}${field('weight', 'Weight', '1 to 100, of the slots that namespaces wait for; empty: 10')}${field('max_running', 'Running', 'at one time; empty: no limit')}</${Ask}>`;
}
