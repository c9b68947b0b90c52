// Why a task waits, in the words of the cluster (SPEC Q4).
import { html } from '../core/html.js';
import { useFeature } from '../core/features.js';
import { useLoad } from '../core/load.js';
import { href, inSpace } from '../core/route.js';
import { Text } from './text.js';
import { When } from './ui.js';

/** How far a worker is with a module that it has not ready. */
function Preparing({ of: p }) {
  return html`<li><${Text} of=${p.worker} max=${100} />: ${p.step}${p.since && html` (<${When} time=${p.since} />)`}${p.failed > 0 && `, ${p.failed} ${p.failed === 1 ? 'try' : 'tries'} failed`}${p.error && html`, the last one: <${Text} of=${p.error} max=${600} />`}</li>`;
}

/** @param {{t: any}} props */
export function Why({ t }) {
  const known = useFeature('/v1/tasks/{id}/why');
  const { data } = useLoad(`v1/tasks/${encodeURIComponent(t.id)}/why`, inSpace(t.namespace), { every: 5000, skip: !known });
  const reasons = data?.reasons || [];
  if (!reasons.length) return null;
  return html`<section class="panel why" role="status"><h2>Why it waits</h2><ul>${reasons.map((r) => html`<li><code>${r.code}</code> <${Text} of=${r.text} max=${500} />${(r.by || []).map((id) => html` <a href=${href(['tasks', id], inSpace(t.namespace))}><${Text} of=${id} max=${40} /></a>`)}${r.preparing && html`<ul>${r.preparing.map((p) => html`<${Preparing} of=${p} />`)}</ul>`}</li>`)}</ul></section>`;
}
