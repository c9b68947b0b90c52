// How the last runs of a behavior went: each is a dot, by how long it took.
import { html } from '../core/html.js';
import { href, inSpace } from '../core/route.js';
import { length } from '../core/clock.js';

/** The attempts that tasks remember, oldest first. */
function attempts(tasks) {
  return tasks.flatMap((t) => t.history.filter((a) => a.finished_at).map((a) => ({
    id: t.id, version: t.version, outcome: a.outcome, fuel: a.fuel_used || 0, memory: a.peak_memory_bytes || 0, at: Date.parse(a.started_at), took: Date.parse(a.finished_at) - Date.parse(a.started_at),
  }))).sort((a, b) => a.at - b.at);
}

const middle = (sorted, part) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))];

/**
 * What the attempts of each version took. A task that has succeeded is pinned to no version any more: its attempts count for the version that was
 * active when they began.
 */
export function byVersion(tasks, versions) {
  const groups = {};
  const latest = versions.map((v) => ({ version: v.version, since: Date.parse(v.activated_at) })).sort((a, b) => b.since - a.since);
  for (const a of attempts(tasks)) {
    const version = a.version || latest.find((v) => v.since <= a.at)?.version;
    if (version) (groups[version] ||= []).push(a);
  }
  const result = {};
  for (const [version, list] of Object.entries(groups)) {
    const took = list.map((a) => a.took).sort((a, b) => a - b);
    const fuel = list.map((a) => a.fuel).filter(Boolean).sort((a, b) => a - b);
    const memory = Math.max(...list.map((a) => a.memory));
    result[version] = { runs: list.length, median: middle(took, 0.5), high: middle(took, 0.95), fuel: fuel.length ? middle(fuel, 0.5) : 0, memory, failed: list.filter((a) => a.outcome !== 'SUCCESS').length / list.length };
  }
  return result;
}

const width = 1000;
const height = 150;

/** @param {{tasks: any[], namespace: string}} props */
export function Runs({ tasks, namespace }) {
  const list = attempts(tasks).slice(-400);
  if (!list.length) return html`<p class="none">No run has ended lately.</p>`;
  const most = Math.max(...list.map((a) => a.took), 1);
  const y = (took) => height - 12 - (Math.log1p(took) / Math.log1p(most)) * (height - 26);
  const x = (i) => (list.length === 1 ? width / 2 : 8 + (i / (list.length - 1)) * (width - 16));
  const failed = list.filter((a) => a.outcome !== 'SUCCESS').length;
  const marks = [1, 10, 100, 1e3, 10e3, 60e3, 600e3, 3600e3].filter((m) => m <= most);
  return html`<figure class="runs"><div class="plot"><svg viewBox="0 0 ${width} ${height}" preserveAspectRatio="none" role="img" aria-label="${list.length} runs, ${failed} without success, the longest ${length(most)}">
      ${marks.map((m) => html`<line x1="0" x2=${width} y1=${y(m)} y2=${y(m)} class="grid" />`)}</svg>
    ${marks.map((m) => html`<span class="mark-y" aria-hidden="true" style=${{ top: (y(m) / height) * 100 + '%' }}>${length(m)}</span>`)}
    ${list.map((a, i) => html`<a class="dot-run ${a.outcome === 'SUCCESS' ? 'good' : 'bad'}" tabindex="-1" aria-hidden="true" href=${href(['tasks', a.id], inSpace(namespace))} style=${{ left: (x(i) / width) * 100 + '%', top: (y(a.took) / height) * 100 + '%' }} title="${a.id}: ${a.outcome}, ${length(a.took)}"></a>`)}
    </div><figcaption class="note">${list.length} ${list.length === 1 ? 'run' : 'runs'}, the last at the right; ${failed} without success; the longest took ${length(most)}.</figcaption></figure>`;
}
