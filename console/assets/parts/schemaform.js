// A form made of a JSON Schema: fields for what is plain, JSON for the rest. The cluster checks the whole.
import { html } from '../core/html.js';

const plain = (s) => Array.isArray(s?.enum) || ['string', 'integer', 'number', 'boolean'].includes(s?.type);

/** Whether a form can be made: an object whose properties are named. */
export const isForm = (schema) => schema?.type === 'object' && !!schema.properties && Object.keys(schema.properties).length > 0 && Object.keys(schema.properties).length <= 60;

/** What stands in a form at first. */
export function begin(schema) {
  const values = {};
  for (const [name, s] of Object.entries(schema.properties)) if (s?.default !== undefined) values[name] = plain(s) ? (s.enum ? JSON.stringify(s.default) : s.default) : JSON.stringify(s.default, null, 2);
  return values;
}

/**
 * The params that a form says, or what is wrong with it.
 * @returns {{params?: any, wrong?: string}}
 */
export function read(schema, values) {
  const params = {};
  for (const [name, s] of Object.entries(schema.properties)) {
    const text = values[name];
    if (text === undefined || text === '') {
      if (s?.type === 'string' && text === '' && schema.required?.includes(name)) params[name] = '';
      continue;
    }
    if (s?.type === 'boolean' && !s.enum) params[name] = text === true || text === 'true';
    else if (s?.type === 'string' && !s.enum) params[name] = text;
    else if ((s?.type === 'integer' || s?.type === 'number') && !s.enum) {
      if (!Number.isFinite(Number(text))) return { wrong: `${name} is not a number.` };
      params[name] = Number(text);
    } else {
      try {
        params[name] = JSON.parse(text);
      } catch (e) {
        return { wrong: `${name} is not JSON: ${e.message}` };
      }
    }
  }
  return { params };
}

/** @param {{schema: any, values: any, set: (v: any) => void}} props */
export const SchemaForm = ({ schema, values, set }) => html`${Object.entries(schema.properties).map(([name, s]) => {
  const id = 'param-' + name.replace(/[^A-Za-z0-9_-]/g, '-');
  const needed = schema.required?.includes(name);
  const hint = [s?.description, needed ? '' : 'may be left out'].filter(Boolean).join('; ');
  return html`<label for=${id}>${s?.title || name}${hint && html` <span class="none">(${hint})</span>`}</label><${Field} id=${id} s=${s || {}} needed=${needed} value=${values[name]} set=${(v) => set({ ...values, [name]: v })} />`;
})}`;

function Field({ id, s, needed, value, set }) {
  const input = (e) => set(e.target.value);
  if (Array.isArray(s.enum) || s.type === 'boolean') {
    const choices = s.enum ? s.enum.map((v) => [JSON.stringify(v), typeof v === 'string' ? v : JSON.stringify(v)]) : [['true', 'yes'], ['false', 'no']];
    const chosen = value === undefined ? '' : String(value);
    return html`<select id=${id} value=${chosen} required=${needed} onChange=${input}><option value="" selected=${chosen === ''}>—</option>${choices.map(([v, text]) => html`<option value=${v} selected=${v === chosen}>${text}</option>`)}</select>`;
  }
  if (s.type === 'integer' || s.type === 'number') return html`<input id=${id} type="number" step=${s.type === 'integer' ? 1 : 'any'} min=${s.minimum} max=${s.maximum} required=${needed} value=${value ?? ''} onInput=${input} />`;
  if (s.type === 'string' && (s.maxLength === undefined || s.maxLength <= 200)) return html`<input id=${id} value=${value ?? ''} minlength=${s.minLength} maxlength=${s.maxLength} onInput=${input} autocomplete="off" />`;
  return html`<textarea id=${id} rows="4" spellcheck="false" placeholder=${s.type === 'string' ? '' : 'JSON'} onInput=${input} value=${value ?? ''}></textarea>`;
}
