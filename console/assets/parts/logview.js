// What a task has logged, followed while it runs.
import { html, useState, useEffect } from '../core/html.js';
import { useLoad } from '../core/load.js';
import { inSpace } from '../core/route.js';
import { Block } from './text.js';
import { Failed } from './ui.js';

/** @param {{t: any}} props */
export function LogView({ t }) {
  const running = t.status === 'RUNNING';
  const { data, error, reload } = useLoad(`v1/tasks/${encodeURIComponent(t.id)}/logs`, inSpace(t.namespace), { every: running ? 2000 : 0 });
  const [chosen, setChosen] = useState(null);
  useEffect(() => { reload(); }, [t.rev]);
  const attempts = data?.attempts || [];
  const shown = attempts.find((a) => a.attempt === chosen) || attempts[attempts.length - 1];
  return html`<section class="panel"><div class="panel-head"><h2>Log</h2>
      ${attempts.length > 1 && html`<label class="inline">Attempt <select value=${shown.attempt} onChange=${(e) => setChosen(Number(e.target.value))}>${attempts.map((a) => html`<option value=${a.attempt} selected=${a === shown}>${a.attempt}</option>`)}</select></label>`}
      ${running && html`<span class="live l-live">followed</span>`}</div>
    ${error && html`<${Failed} error=${error} />`}
    ${shown ? html`<${Block} text=${shown.text} tail label="Log of attempt ${shown.attempt}" />` : data && html`<p class="none">Nothing was logged${running ? ' so far' : ', or the node that kept it is gone'}.</p>`}
  </section>`;
}
