/**
 * The part of the playground's script that makes a form of a scenario's JSON schema: a field for each argument, JSON for
 * what has no field, and the whole as JSON where somebody prefers that. Blank fields are left out.
 */
export const PLAYGROUND_FORM_SCRIPT = String.raw`
  const HIDDEN = /(?![\t\n\r\u200c\u200d])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

  /** Characters that hide or reorder text, by their names. */
  function visible(text) {
    return String(text).replace(HIDDEN, (character) => {
      const code = character.codePointAt(0);
      return code < 0x20 ? String.fromCodePoint(0x2400 + code) : '[U+' + code.toString(16).toUpperCase().padStart(4, '0') + ']';
    });
  }

  /** Everything that is shown goes in by this: as text, never as HTML. */
  function add(parent, tag, text, className) {
    const element = document.createElement(tag);
    if (text !== undefined) element.textContent = visible(text);
    if (className !== undefined) element.className = className;
    parent.append(element);
    return element;
  }

  function kindOf(property) {
    if (Array.isArray(property.enum)) return 'choice';
    if (property.type === 'boolean' || property.type === 'string') return property.type;
    return property.type === 'number' || property.type === 'integer' ? 'number' : 'json';
  }

  function addChoices(select, kind, property) {
    const values = kind === 'boolean' ? [true, false] : property.enum;
    const fallback = JSON.stringify(property.default);
    select.append(new Option(fallback === undefined ? '' : visible(plain(property.default) + ' (default)'), ''));
    for (const value of values) {
      if (JSON.stringify(value) !== fallback) select.append(new Option(visible(plain(value)), JSON.stringify(value)));
    }
  }

  /** As a person writes it: text without quotes. */
  function plain(value) {
    return typeof value === 'string' ? value : JSON.stringify(value);
  }

  /** What a field takes, for its label. */
  function typeOf(property, kind) {
    if (kind !== 'choice') return [typeof property.type === 'string' ? property.type : 'JSON', kind === 'number' ? rangeOf(property) : ''].filter(Boolean).join(', ');
    const values = property.enum.map(plain);
    const list = values.length < 2 ? values.join('') : values.slice(0, -1).join(', ') + ' or ' + values[values.length - 1];
    return list.length > 60 ? 'one of ' + values.length : list;
  }

  /** Schemas bound whole numbers by what a computer can count to, which tells nobody anything. */
  function isBound(value) {
    return typeof value === 'number' && Math.abs(value) < Number.MAX_SAFE_INTEGER;
  }

  function rangeOf({ minimum, maximum, exclusiveMinimum, exclusiveMaximum }) {
    if (isBound(minimum) && isBound(maximum)) return minimum + ' to ' + maximum;
    const from = isBound(minimum) ? 'at least ' + minimum : isBound(exclusiveMinimum) ? 'over ' + exclusiveMinimum : '';
    const to = isBound(maximum) ? 'at most ' + maximum : isBound(exclusiveMaximum) ? 'under ' + exclusiveMaximum : '';
    return [from, to].filter(Boolean).join(', ');
  }

  function addInput(parent, kind, property) {
    if (kind === 'choice' || kind === 'boolean') {
      const select = add(parent, 'select');
      addChoices(select, kind, property);
      return select;
    }
    if (kind === 'number') {
      const input = add(parent, 'input');
      input.type = 'number';
      input.step = property.type === 'integer' ? '1' : 'any';
      const { minimum, maximum, exclusiveMinimum, exclusiveMaximum } = property;
      const inside = property.type === 'integer' ? 1 : 0;
      if (isBound(minimum)) input.min = minimum;
      else if (isBound(exclusiveMinimum)) input.min = exclusiveMinimum + inside;
      if (isBound(maximum)) input.max = maximum;
      else if (isBound(exclusiveMaximum)) input.max = exclusiveMaximum - inside;
      return input;
    }
    const area = add(parent, 'textarea');
    area.rows = kind === 'json' ? 2 : 1;
    return area;
  }

  function addField(parent, name, property, isRequired) {
    const kind = kindOf(property);
    const label = add(parent, 'label');
    add(label, 'code', name);
    add(label, 'span', ' ' + typeOf(property, kind) + (isRequired ? '' : ', optional'), 'quiet');
    const input = addInput(parent, kind, property);
    input.id = 'argument-' + name;
    label.htmlFor = input.id;
    input.dataset.name = name;
    input.dataset.kind = kind;
    input.autocomplete = 'off';
    input.spellcheck = kind === 'string';
    if (isRequired) input.setAttribute('aria-required', 'true');
    if (kind !== 'choice' && kind !== 'boolean') {
      const { default: fallback } = property;
      const shown = kind === 'json' ? JSON.stringify(fallback) : plain(fallback);
      input.placeholder = visible(fallback !== undefined ? shown + ' by default' : kind === 'json' ? 'JSON, such as ' + example(property) : '');
    }
    if (typeof property.description === 'string') {
      const about = add(parent, 'p', property.description, 'about');
      about.id = input.id + '-about';
      input.setAttribute('aria-describedby', about.id);
    }
  }

  function example(property) {
    if (property.type === 'array') return property.items && property.items.type === 'string' ? '["one", "two"]' : '[1, 2]';
    return property.type === 'object' ? '{"name": "value"}' : 'null';
  }

  /** The form of a schema in this element; { read, show } of its values. */
  function createArgumentsForm(parent, schema) {
    parent.replaceChildren();
    const properties = Object.entries(schema.properties || {});
    const required = schema.required || [];
    const fields = add(parent, 'div');
    for (const [name, property] of properties) addField(fields, name, property || {}, required.includes(name));
    const isOpen = schema.additionalProperties !== false;
    if (properties.length === 0 && !isOpen) {
      add(fields, 'p', 'It takes no arguments.', 'quiet');
      return { read: () => ({}) };
    }
    const whole = add(parent, 'div');
    const label = add(whole, 'label', 'Arguments ');
    add(label, 'span', 'a JSON object', 'quiet');
    const area = add(whole, 'textarea');
    area.rows = 5;
    area.id = 'arguments-json';
    area.spellcheck = false;
    area.placeholder = '{}';
    label.htmlFor = area.id;
    let isWhole = properties.length === 0;
    const toggle = add(parent, 'button', '', 'plain small');
    toggle.type = 'button';
    const update = () => {
      fields.hidden = isWhole;
      whole.hidden = !isWhole;
      toggle.hidden = properties.length === 0;
      toggle.textContent = isWhole ? 'Back to the form' : 'Write them as JSON';
    };
    toggle.addEventListener('click', () => {
      if (!isWhole) area.value = JSON.stringify(readFields(fields, true), null, 2);
      isWhole = !isWhole;
      update();
      if (isWhole) area.focus();
    });
    update();
    return { read: () => (isWhole ? readWhole(area) : readFields(fields, false)) };
  }

  function problemOf(field, message) {
    return Object.assign(new Error(message), { field });
  }

  function readWhole(area) {
    if (area.value.trim() === '') return {};
    try {
      const value = JSON.parse(area.value);
      if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value;
    } catch (error) {
      throw problemOf(area, 'The arguments are not JSON: ' + error.message);
    }
    throw problemOf(area, 'The arguments have to be a JSON object, such as {"name": "value"}.');
  }

  function readFields(fields, isLenient) {
    const args = {};
    for (const field of fields.querySelectorAll('[data-kind]')) {
      const { kind, name } = field.dataset;
      if (field.validity.badInput && !isLenient) throw problemOf(field, name + ' has to be a number.');
      if (field.value.trim() === '') continue;
      if (kind === 'string') args[name] = field.value;
      else if (kind === 'number') args[name] = Number(field.value);
      else {
        try {
          args[name] = JSON.parse(field.value);
        } catch (error) {
          if (!isLenient) throw problemOf(field, name + ' is not JSON: ' + error.message);
        }
      }
    }
    return args;
  }
`;
