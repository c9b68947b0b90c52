// The attempts of a task on one line of time: runs, losses, waits, and the lease.
import { html } from '../core/html.js';
import { useTick, length, exact, ago } from '../core/clock.js';
import { Badge, brief, size } from './ui.js';
import { Text } from './text.js';

/** Outcomes that are no failures of the run, by what they say. */
const kinds = {
  SUCCESS: ['success', 'success'], LOST: ['lost', 'lost: its worker died or was cut off'], SUSPECT: ['lost', 'the process of guests died: it runs next alone'],
  GIVEN_BACK: ['retrying', 'given back by a worker that stopped'], SNOOZED: ['idle', 'snoozed: it asked to run later'],
};

/** The spans of a task, oldest first: {from, to, kind, ...}. */
export function spans(t, at) {
  const rows = t.history.map((a) => ({
    n: a.attempt, token: a.token, worker: a.worker, node: a.node, from: Date.parse(a.started_at), to: a.finished_at ? Date.parse(a.finished_at) : at,
    outcome: a.outcome, fuel: a.fuel_used, memory: a.peak_memory_bytes, kind: (kinds[a.outcome] || ['failure'])[0], says: (kinds[a.outcome] || [0, a.outcome])[1],
  }));
  if (t.lease && !rows.some((r) => r.token === t.lease.token)) {
    rows.push({ n: t.attempt, token: t.lease.token, worker: t.lease.worker, node: t.lease.node, from: Date.parse(t.started_at), to: at, outcome: 'RUNNING', kind: 'running', says: 'runs now', lease: t.lease });
  }
  return rows;
}

/** @param {{t: any, limits?: any}} props */
export function Timeline({ t, limits }) {
  const at = useTick();
  const rows = spans(t, at);
  const first = rows[0]?.n === 1 || !rows.length ? Date.parse(t.created_at) : rows[0].from;
  const due = !t.final && t.status !== 'RUNNING' && t.not_before ? Date.parse(t.not_before) : 0;
  const last = Math.max(...rows.map((r) => r.to), due ? Math.min(due, at + (at - first || 1) * 2) : 0, t.final ? 0 : at, first + 1);
  const where = (time) => Math.max(0, Math.min(100, ((time - first) / (last - first)) * 100));
  const bar = (from, to) => ({ left: where(from) + '%', width: Math.max(0.5, where(to) - where(from)) + '%' });
  const gone = rows.length ? rows[0].n - 1 : 0;
  return html`<div class="timeline">
    ${gone > 0 && html`<p class="note">${gone} earlier ${gone === 1 ? 'attempt is' : 'attempts are'} kept no longer.</p>`}
    <div class="table-box plain" tabindex="0" role="region" aria-label="Attempts"><table class="list attempts">
      <thead><tr><th scope="col">Attempt</th><th scope="col">Outcome</th><th scope="col">Worker</th><th scope="col" class="lane"><span class="lane-head"><span>${exact(new Date(first).toISOString()).replace(/\.\d+/, '')}</span><span>${length(last - first)}</span></span></th><th scope="col" class="num">Waited</th><th scope="col" class="num">Ran</th><th scope="col" class="num">Fuel</th><th scope="col" class="num">Memory</th></tr></thead>
      <tbody>${rows.map((r, i) => {
        const before = i ? rows[i - 1].to : first;
        return html`<tr key=${r.token}><td><span class="num-cell">${r.n}</span></td>
          <td><${Badge} status=${r.kind.toUpperCase()} title=${r.says} /><${OutcomeCode} r=${r} /></td>
          <td><${Text} of=${r.worker} max=${60} />${r.node && r.node !== r.worker && html`<span class="under">on ${r.node}</span>`}</td>
          <td class="lane"><div class="track"><span class="bar waited" style=${bar(before, r.from)}></span><span class="bar s-${r.kind} ${r.lease ? 'open' : ''}" style=${bar(r.from, r.to)} title="${exact(new Date(r.from).toISOString())}, ${length(r.to - r.from)}"></span></div></td>
          <td class="num">${i || gone === 0 ? length(Math.max(0, r.from - before)) : ''}</td><td class="num">${length(Math.max(0, r.to - r.from))}</td>
          <td class="num" title=${limits?.fuel ? `limit ${limits.fuel}` : undefined}>${r.fuel ? brief(r.fuel) : html`<span class="none">—</span>`}${r.fuel && limits?.fuel ? html`<span class="under end">${((r.fuel / limits.fuel) * 100).toPrecision(2)} % of limit</span>` : ''}</td>
          <td class="num" title=${limits?.memory_bytes ? `limit ${size(limits.memory_bytes)}` : undefined}>${r.memory ? size(r.memory) : html`<span class="none">—</span>`}</td></tr>`;
      })}
      ${due > 0 && html`<tr><td><span class="num-cell">${t.attempt + 1}</span></td><td><${Badge} status="WAITING" /></td><td></td><td class="lane"><div class="track"><span class="bar waited" style=${bar(rows.length ? rows[rows.length - 1].to : first, Math.max(due, at))}></span></div></td>
        <td class="num">${due > at ? 'due ' + ago(t.not_before, at) : 'due'}</td><td></td><td></td><td></td></tr>`}
      </tbody></table></div>
    ${t.lease && html`<${Lease} lease=${t.lease} at=${at} />`}
    <p class="note">${t.failures > 0 ? `${t.failures} failed since the last success. ` : ''}${t.lost_count > 0 ? `${t.lost_count} lost since the last outcome or checkpoint. ` : ''}${limits?.memory_bytes ? `A run may use ${size(limits.memory_bytes)} of memory${limits.fuel ? ` and ${brief(limits.fuel)} units of fuel` : ''}.` : ''}</p>
  </div>`;
}

const OutcomeCode = ({ r }) => (['SUCCESS', 'RUNNING', 'LOST'].includes(r.outcome) ? '' : html`<span class="under"><code><${Text} of=${r.outcome} max=${64} /></code></span>`);

/** What is known of the lease: for an external worker how long it lasts, for a session when it could be lost at the earliest. */
function Lease({ lease, at }) {
  const until = lease.lost_not_before ? Date.parse(lease.lost_not_before) - at : NaN;
  return html`<p class="lease"><strong>Lease</strong> <code>token ${lease.token}</code> held by <${Text} of=${lease.worker} max=${80} />${lease.node && lease.node !== lease.worker ? html` on ${lease.node}` : ''}${lease.external ? ', which renews it itself' : ', renewed with the session of its worker'}.
    ${Number.isFinite(until) && html` It cannot be lost for ${until > 0 ? 'another ' + length(until) : 'no time: it is overdue'}.`}</p>`;
}
