import { isJsonObject, type JsonObject } from '../../contract/json.ts';

/** A form for the arguments of a tool, made from its schema: a field for each property, JSON for what has no field. */
export function renderToolForm(tool: string, schema: JsonObject): string {
  const properties = isJsonObject(schema.properties) ? Object.entries(schema.properties) : [];
  const required = Array.isArray(schema.required) ? schema.required : [];
  const fields = properties.map(([name, property]) =>
    renderField(`${tool}.${name}`, name, isJsonObject(property) ? property : {}, required.includes(name)),
  );
  // Without properties the schema says nothing of what a call may hold, or that it holds nothing.
  const isOpen = properties.length === 0 && schema.additionalProperties !== false && schema.type !== undefined;
  const whole = isOpen ? [renderWhole(tool)] : [];
  return `<form data-tool="${escapeHtml(tool)}">
${[...fields, ...whole].join('\n')}
<p class="actions"><button type="submit">Call ${escapeHtml(tool)}</button> <button type="button" class="cancel" hidden>Cancel</button></p>
<output></output>
</form>`;
}

/** The text of anything, as HTML may hold it. */
export function escapeHtml(value: unknown): string {
  return String(value ?? '').replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}

function renderField(id: string, name: string, property: JsonObject, isRequired: boolean): string {
  const { description, type, default: fallback } = property;
  const kind = kindOf(property);
  const hint = [typeof type === 'string' ? type : '', isRequired ? 'required' : 'optional'].filter(Boolean).join(', ');
  const preset = fallback === undefined ? '' : `, ${escapeHtml(JSON.stringify(fallback))} by default`;
  const about = typeof description === 'string' ? ` <span class="about">${escapeHtml(description)}</span>` : '';
  const attributes = `id="${escapeHtml(id)}" data-name="${escapeHtml(name)}" data-kind="${kind}"`;
  return `<label for="${escapeHtml(id)}"><span><code>${escapeHtml(name)}</code> <span class="quiet">${escapeHtml(hint)}${preset}</span></span>${about}
${renderInput(kind, attributes, property)}</label>`;
}

type Kind = 'choice' | 'boolean' | 'number' | 'string' | 'json';

function kindOf({ type, enum: values }: JsonObject): Kind {
  if (Array.isArray(values)) return 'choice';
  if (type === 'boolean' || type === 'string') return type;
  return type === 'number' || type === 'integer' ? 'number' : 'json';
}

function renderInput(kind: Kind, attributes: string, { type, enum: values }: JsonObject): string {
  if (kind === 'choice' || kind === 'boolean') {
    const choices = kind === 'boolean' ? [true, false] : Array.isArray(values) ? values : [];
    const options = choices.map((value) => {
      const shown = typeof value === 'string' ? value : JSON.stringify(value);
      return `<option value="${escapeHtml(JSON.stringify(value))}">${escapeHtml(shown)}</option>`;
    });
    return `<select ${attributes}><option value=""></option>${options.join('')}</select>`;
  }
  if (kind === 'number') {
    return `<input type="number" ${attributes} step="${type === 'integer' ? '1' : 'any'}" autocomplete="off">`;
  }
  const placeholder = kind === 'json' ? ' placeholder="JSON"' : '';
  return `<textarea rows="1" ${attributes}${placeholder} spellcheck="false" autocomplete="off"></textarea>`;
}

function renderWhole(tool: string): string {
  const id = escapeHtml(`${tool}.`);
  return `<label for="${id}"><span>arguments <span class="quiet">a JSON object, optional</span></span>
<textarea rows="2" id="${id}" data-kind="whole" placeholder="{}" spellcheck="false" autocomplete="off"></textarea></label>`;
}
