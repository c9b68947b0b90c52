// A table: what stands in its columns is said once.
import { html } from '../core/html.js';

/**
 * @param {{label: string, rows: any[], id: (row: any) => string, columns: [string, (row: any) => any, string?][], plain?: boolean}} props
 * A column is its head, what it shows of a row, and a class.
 */
export const Table = ({ label, rows, id, columns, plain }) => html`<div class="table-box ${plain ? 'plain' : ''}" tabindex="0" role="region" aria-label=${label}><table class="list">
  <thead><tr>${columns.map(([head, , name]) => html`<th scope="col" class=${name}>${head || html`<span class="sr">Actions</span>`}</th>`)}</tr></thead>
  <tbody>${rows.map((row) => html`<tr key=${id(row)}>${columns.map(([, show, name]) => html`<td class=${name}>${show(row)}</td>`)}</tr>`)}</tbody></table></div>`;

/** Figures in boxes: [number, name]. */
export const Figures = ({ of }) => html`<div class="figures">${of.filter(Boolean).map(([value, name]) => html`<div class="figure"><b>${value}</b><span>${name}</span></div>`)}</div>`;

/** How much of something is used, as a bar. */
export function Meter({ value, of, label }) {
  const part = of ? Math.min(1, value / of) : 0;
  return html`<span class="meter" role="img" aria-label=${label}><span class="fill ${part >= 1 ? 'full' : ''}" style=${{ width: part * 100 + '%' }}></span></span>`;
}
