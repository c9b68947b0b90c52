// What one may do with a task.
import { html, useState } from '../core/html.js';
import { go, inSpace } from '../core/route.js';
import { useMe, may } from '../core/me.js';
import { Ask, cli } from './ask.js';
import { Text } from './text.js';

/** @param {{t: any, reload: () => void}} props */
export function Actions({ t, reload }) {
  const who = useMe();
  const [asked, setAsked] = useState('');
  const where = { namespace: t.namespace, behavior: t.behavior };
  const steers = may(who, ['operate', 'submit'], where);
  if (!steers) return null;
  const fans = t.partition !== undefined;
  const waits = t.status === 'FAILURE' && !t.final;
  const can = {
    cancel: !t.final && !t.cancel_requested,
    retry: (t.final || waits) && !fans,
    resubmit: !fans,
    remove: !fans,
  };
  const close = (changed) => {
    setAsked('');
    if (changed && asked === 'remove') go(['tasks'], inSpace(t.namespace));
    else if (changed) reload();
  };
  const Box = { cancel: Cancel, retry: Retry, resubmit: Resubmit, remove: Remove }[asked];
  return html`${can.cancel && html`<button onClick=${() => setAsked('cancel')}>Cancel</button>`}
    ${can.retry && html`<button onClick=${() => setAsked('retry')}>Retry</button>`}
    ${can.resubmit && html`<button onClick=${() => setAsked('resubmit')}>Resubmit</button>`}
    ${can.remove && html`<button onClick=${() => setAsked('remove')}>Remove</button>`}
    ${Box && html`<${Box} t=${t} close=${close} />`}`;
}

const place = (t, verb) => ({ path: `v1/tasks/${encodeURIComponent(t.id)}${verb ? '/' + verb : ''}`, query: inSpace(t.namespace) });

const Cancel = ({ t, close }) => html`<${Ask} title="Cancel this task?" verb="Cancel the task" danger request=${{ method: 'POST', ...place(t, 'cancel') }} command=${cli(['cancel', t.id], t)} done="The task is cancelled, or its worker is being told." close=${close}>
  <p>${t.status === 'RUNNING' ? 'It runs: its worker is told now, and may end it within its time of grace. Then the run is killed.' : 'It waits, and ends at once.'} It becomes a failure with the code CANCELLED. Retry makes it due again.</p></${Ask}>`;

const Remove = ({ t, close }) => html`<${Ask} title="Remove this task?" verb="Remove for good" danger request=${{ method: 'DELETE', ...place(t) }} command=${cli(['rm', t.id], t)} done="The task is removed." close=${close}>
  <p><strong><${Text} of=${t.id} max=${128} /></strong> is deleted with its result, error and history. ${t.status === 'RUNNING' ? 'It runs: its worker is told to halt.' : ''} This cannot be undone.</p></${Ask}>`;

const Delay = ({ value, set }) => html`<label for="delay">Not before <span class="none">(a duration like 30s or 1h30m; empty: now)</span></label>
  <input id="delay" value=${value} onInput=${(e) => set(e.target.value.trim())} autocomplete="off" placeholder="now" />`;

function Retry({ t, close }) {
  const [delay, setDelay] = useState('');
  const [active, setActive] = useState(false);
  const body = { ...(delay ? { delay } : {}), ...(active ? { version: 'active' } : {}) };
  const words = ['retry', t.id, ...(delay ? ['--delay', delay] : []), ...(active ? ['--version', 'active'] : [])];
  return html`<${Ask} title="Run this task again?" verb="Retry" request=${{ method: 'POST', ...place(t, 'retry'), body }} command=${cli(words, t)} done="The task is due again." close=${close}>
    <p>It becomes due again, with the same params. Its count of failures begins anew.</p><${Delay} value=${delay} set=${setDelay} />
    <p class="check"><input type="checkbox" id="active" checked=${active} onChange=${(e) => setActive(e.target.checked)} /><label for="active">by the active version, instead of the one that it is pinned to</label></p></${Ask}>`;
}

function Resubmit({ t, close }) {
  const [delay, setDelay] = useState('');
  const [params, setParams] = useState('');
  let parsed;
  let wrong = '';
  if (params.trim()) {
    try {
      parsed = JSON.parse(params);
    } catch (e) {
      wrong = 'The params are not JSON: ' + e.message;
    }
  }
  const body = { ...(delay ? { delay } : {}), ...(parsed !== undefined ? { params: parsed } : {}) };
  const words = ['resubmit', t.id, ...(delay ? ['--delay', delay] : []), ...(parsed !== undefined ? ['--params', JSON.stringify(parsed)] : [])];
  return html`<${Ask} title="Resubmit this task?" verb="Resubmit" request=${{ method: 'POST', ...place(t, 'resubmit'), body }} command=${cli(words, t)} check=${() => wrong} done="The task was resubmitted." close=${close}>
    <p>${t.status === 'RUNNING' ? 'It runs: it is due again when this run has ended, whatever its outcome.' : 'It is due again at the time that you give.'}</p><${Delay} value=${delay} set=${setDelay} />
    <label for="params">Params <span class="none">(JSON; empty: those that it has)</span></label><textarea id="params" rows="6" spellcheck="false" value=${params} onInput=${(e) => setParams(e.target.value)}></textarea></${Ask}>`;
}
