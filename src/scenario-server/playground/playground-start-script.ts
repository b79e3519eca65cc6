/** The part of the playground's script in which a scenario, its arguments and a model are chosen. */
export const PLAYGROUND_START_SCRIPT = `
  const byId = (id) => document.getElementById(id);
  const show = (id, isShown) => { byId(id).hidden = !isShown; };
  let scenarios = [];
  let argumentsForm;

  async function readChoices() {
    show('again', false);
    hideProblem();
    show('loading', true);
    try {
      const choices = await (await ask('/playground/choices')).json();
      scenarios = choices.scenarios;
      fillChoices(choices);
    } catch (error) {
      showProblem(error);
      show('again', true);
    } finally {
      show('loading', false);
    }
  }

  function fillChoices({ models, model, max_steps }) {
    const select = byId('scenario');
    const groups = new Map();
    for (const { name, short_name } of scenarios) {
      const environment = name.slice(0, name.lastIndexOf(':')) || 'scenarios';
      if (!groups.has(environment)) {
        const group = add(select, 'optgroup');
        group.label = visible(environment);
        groups.set(environment, group);
      }
      groups.get(environment).append(new Option(visible(short_name), name));
    }
    for (const id of models) byId('models').append(new Option(id, id));
    byId('model').value = model;
    byId('max-steps').placeholder = max_steps.default + ' by default';
    if (scenarios.length === 0) return showProblem(new Error('The environments of this server have no scenarios.'));
    show('choices', true);
    chooseScenario();
  }

  function chooseScenario() {
    const entry = scenarios.find(({ name }) => name === byId('scenario').value);
    hideProblem(); // It may stand in the form that goes.
    byId('about').textContent = visible(entry.description);
    argumentsForm = createArgumentsForm(byId('arguments'), entry.args_schema);
  }

  function hideProblem() {
    for (const field of document.querySelectorAll('[aria-invalid]')) {
      field.removeAttribute('aria-invalid');
      field.removeAttribute('aria-errormessage');
    }
    show('start-problem', false);
    byId('again').before(byId('start-problem'));
  }

  /** Under the field that it is about, where there is one. */
  function showProblem(error) {
    hideProblem();
    const problem = byId('start-problem');
    const field = fieldOf(error);
    if (field) {
      const details = field.closest('details');
      if (details) details.open = true;
      const about = field.nextElementSibling;
      (about && about.classList.contains('about') ? about : field).after(problem);
    }
    problem.textContent = visible(error.message);
    problem.hidden = false;
    if (field) {
      field.setAttribute('aria-invalid', 'true');
      field.setAttribute('aria-errormessage', problem.id);
      field.focus({ preventScroll: true });
    }
    const seen = field && document.querySelector('label[for="' + CSS.escape(field.id) + '"]');
    if (seen) seen.scrollIntoView({ block: 'nearest' });
    problem.scrollIntoView({ block: 'nearest' });
  }

  function fieldOf(error) {
    const param = typeof error.param === 'string' ? error.param : '';
    const name = param.startsWith('scenario_args.') ? param.slice('scenario_args.'.length) : '';
    const argument = [...document.querySelectorAll('#arguments [data-name]')].find(
      (field) => field.dataset.name === name || name.startsWith(field.dataset.name + '.') || name.startsWith(field.dataset.name + '['),
    );
    const other = { model: byId('model'), max_steps: byId('max-steps'), scenario: byId('scenario') }[param];
    return error.field || argument || other;
  }

  async function start() {
    if (running !== undefined) return;
    hideProblem();
    const steps = byId('max-steps').value;
    const first = byId('first').value;
    const model = byId('model').value.trim();
    try {
      const body = { scenario: byId('scenario').value, scenario_args: argumentsForm.read() };
      if (model !== '') body.model = model;
      if (steps !== '') body.max_steps = Number(steps);
      if (first.trim() !== '') body.message = first;
      await play(body, first);
    } catch (error) {
      if (error.name !== 'AbortError') showProblem(error);
    }
  }
`;
