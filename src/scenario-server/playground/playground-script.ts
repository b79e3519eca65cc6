import { PLAYGROUND_CHAT_SCRIPT } from './playground-chat-script.ts';
import { PLAYGROUND_FORM_SCRIPT } from './playground-form-script.ts';

/** What drives the page: choosing, starting, turns, the end. A session is held on the server; the page knows its id. */
const PLAYGROUND_MAIN_SCRIPT = String.raw`
  const byId = (id) => document.getElementById(id);
  const show = (id, isShown) => { byId(id).hidden = !isShown; };
  let scenarios = [];
  let argumentsForm;
  let session;
  let running;

  async function ask(path, body, signal) {
    const init = { method: 'POST', headers: { 'content-type': 'application/json', 'x-csrf-token': document.body.dataset.csrf }, body: JSON.stringify(body), signal };
    let response;
    try {
      response = await fetch(path, body === undefined ? { signal } : init);
    } catch (error) {
      if (error.name === 'AbortError') throw error;
      throw new Error('The server cannot be reached: is it still running?');
    }
    if (response.ok) return response;
    const { error } = await response.json().catch(() => ({ error: { message: 'The server answered with status ' + response.status + '.' } }));
    throw Object.assign(new Error(error.message), { param: error.param });
  }

  async function* framesOf(response) {
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    let text = '';
    for (;;) {
      const { done, value } = await reader.read().catch((error) => {
        if (error.name === 'AbortError') throw error;
        throw new Error('The connection was lost.');
      });
      if (done) return;
      const lines = (text + value).split('\n');
      text = lines.pop();
      for (const line of lines) if (line !== '') yield JSON.parse(line);
    }
  }

  async function readChoices() {
    show('again', false);
    show('start-problem', false);
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
    byId('about').textContent = visible(entry.description);
    argumentsForm = createArgumentsForm(byId('arguments'), entry.args_schema);
    show('start-problem', false);
  }

  function showProblem(error) {
    for (const field of document.querySelectorAll('[aria-invalid]')) field.removeAttribute('aria-invalid');
    const problem = byId('start-problem');
    problem.textContent = visible(error.message);
    problem.hidden = false;
    const param = typeof error.param === 'string' ? error.param : '';
    const name = param.startsWith('scenario_args.') ? param.slice('scenario_args.'.length) : '';
    const argument = [...document.querySelectorAll('#arguments [data-name]')].find(
      (field) => field.dataset.name === name || name.startsWith(field.dataset.name + '.') || name.startsWith(field.dataset.name + '['),
    );
    const other = { model: byId('model'), max_steps: byId('max-steps'), scenario: byId('scenario') }[param];
    const field = error.field || argument || other;
    if (!field) return;
    field.setAttribute('aria-invalid', 'true');
    field.focus();
  }

  async function start() {
    if (running !== undefined) return;
    show('start-problem', false);
    for (const field of document.querySelectorAll('[aria-invalid]')) field.removeAttribute('aria-invalid');
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

  async function send() {
    const message = byId('message').value;
    if (running !== undefined || message.trim() === '') return;
    addBubble('user', 'You', message);
    byId('message').value = '';
    try {
      await play({ session_id: session.id, message }, '');
    } catch (error) {
      if (error.name !== 'AbortError') addNote(error.message, true);
    }
  }

  /** One turn to its end. Throws what refused it before it began. */
  async function play(body, first) {
    const isFirst = body.session_id === undefined;
    const controller = new AbortController();
    const view = createTurnView(() => session.model);
    let isOver = false;
    running = controller;
    setBusy(true);
    try {
      for await (const frame of framesOf(await ask('/playground/turn', body, controller.signal))) {
        if (frame.type === 'session') {
          if (isFirst) openSession(frame, body);
        } else if (frame.type === 'prompt') {
          session.hasTextAnswer = frame.has_text_answer;
          view.prompt(frame);
          if (first.trim() !== '') addBubble('user', 'You', first);
        } else if (frame.type === 'step') view.step();
        else if (frame.type === 'text') view.text(frame.text);
        else if (frame.type === 'reasoning') view.reasoning(frame.text);
        else if (frame.type === 'tool_call') view.call(frame);
        else if (frame.type === 'tool_result') view.result(frame);
        else {
          isOver = true;
          if (frame.type === 'answered') showAnswered(frame);
          else {
            addNote(frame.message, true);
            if (frame.status !== 'active') endSession(frame.status);
          }
        }
      }
      if (!isOver) throw new Error('The connection ended before the answer.');
    } catch (error) {
      if (isFirst && session === undefined) throw error;
      const isStopped = controller.signal.aborted;
      addNote(isStopped ? (isFirst ? 'Stopped. A session whose first turn has no answer is closed.' : 'Stopped. What the model had done before is kept; say how to go on.') : error.message, !isStopped);
      if (isFirst) endSession('failed');
    } finally {
      view.end();
      running = undefined;
      setBusy(false);
    }
  }

  function setBusy(isBusy) {
    log.setAttribute('aria-busy', String(isBusy));
    document.body.classList.toggle('busy', isBusy);
    for (const id of ['send', 'finish', 'abandon']) byId(id).disabled = isBusy;
    document.querySelector('#start [type="submit"]').disabled = isBusy;
    show('stop', isBusy);
    if (isBusy) byId('state').textContent = session === undefined ? 'Starting…' : 'The model is at work…';
    else if (byId('state').textContent.endsWith('…')) byId('state').textContent = '';
    if (!isBusy && session !== undefined && session.isActive) byId('message').focus({ preventScroll: true });
  }

  function openSession({ session_id, trace_url, model }, { scenario, scenario_args }) {
    session = { id: session_id, model, isActive: true, hasTextAnswer: true };
    log.replaceChildren();
    isFollowing = true;
    byId('session-name').textContent = visible(scenario.slice(scenario.lastIndexOf(':') + 1));
    byId('trace').href = trace_url;
    showFacts({ Environment: scenario.slice(0, scenario.lastIndexOf(':')), Arguments: JSON.stringify(scenario_args), Model: model, Session: session_id, Status: 'active', Steps: '0' });
    show('start', false);
    show('session', true);
    show('empty', false);
    show('say', true);
    show('new', false);
    show('abandon', true);
    byId('state').textContent = 'The model is at work…';
  }

  function showFacts(facts) {
    const list = byId('facts');
    list.replaceChildren();
    for (const [name, value] of Object.entries(facts)) {
      add(list, 'dt', name);
      add(list, 'dd', value).id = 'fact-' + name.toLowerCase();
    }
  }

  function showAnswered({ finish_reason, steps }) {
    byId('fact-steps').textContent = String(steps);
    if (finish_reason === 'length') addNote('The model was cut off: it had used all the steps or tokens of a turn. A message lets it go on.');
    if (finish_reason === 'content_filter') addNote('The gateway held back the rest (content filter).');
    byId('state').textContent = 'Your turn: write to the model, or finish to have it evaluated.';
  }

  function endSession(status) {
    session.isActive = false;
    byId('fact-status').textContent = status;
    byId('state').textContent = '';
    show('say', false);
    show('submit', false);
    show('abandon', false);
    show('new', true);
    byId('new').focus({ preventScroll: true });
  }

  function askForAnswer(isAsking) {
    show('submit', isAsking);
    show('say', !isAsking);
    byId('answer-hint').textContent = session.hasTextAnswer ? 'optional: left blank, the last text of the model' : 'JSON, optional: left blank, the last text of the model';
    byId(isAsking ? 'answer' : 'message').focus();
    follow();
  }

  async function finish() {
    const text = byId('answer').value;
    const body = { session_id: session.id };
    try {
      if (text.trim() !== '') body.answer = session.hasTextAnswer ? text : JSON.parse(text);
    } catch (error) {
      return addNote('The answer is not JSON: ' + error.message, true);
    }
    const [button] = document.querySelectorAll('#submit button');
    button.disabled = true;
    byId('state').textContent = 'Evaluating…';
    try {
      const result = await (await ask('/playground/finish', body)).json();
      addReward(result);
      endSession(result.status);
    } catch (error) {
      addNote(error.message, true);
      byId('state').textContent = '';
    } finally {
      button.disabled = false;
    }
  }

  async function abandon() {
    try {
      await ask('/playground/abandon', { session_id: session.id });
      addNote('Abandoned: it was not evaluated.');
      endSession('abandoned');
    } catch (error) {
      addNote(error.message, true);
    }
  }

  function startAnew() {
    session = undefined;
    for (const id of ['message', 'answer']) byId(id).value = '';
    log.replaceChildren();
    show('session', false);
    show('start', true);
    show('empty', true);
    byId('scenario').focus();
  }

  function onSubmit(id, act) {
    byId(id).addEventListener('submit', (event) => {
      event.preventDefault();
      void act();
    });
  }
  onSubmit('start', start);
  onSubmit('say', send);
  onSubmit('submit', finish);
  byId('scenario').addEventListener('change', chooseScenario);
  byId('again').addEventListener('click', readChoices);
  byId('stop').addEventListener('click', () => running && running.abort());
  byId('finish').addEventListener('click', () => askForAnswer(true));
  byId('back').addEventListener('click', () => askForAnswer(false));
  byId('abandon').addEventListener('click', abandon);
  byId('new').addEventListener('click', startAnew);
  byId('message').addEventListener('keydown', (event) => {
    if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    void send();
  });
  byId('answer').addEventListener('keydown', (event) => event.key === 'Escape' && askForAnswer(false));
  void readChoices();
`;

/** What runs on the page of the playground: written by hand, without anything from elsewhere. */
export const PLAYGROUND_SCRIPT = `'use strict';
(() => {${PLAYGROUND_FORM_SCRIPT}${PLAYGROUND_CHAT_SCRIPT}${PLAYGROUND_MAIN_SCRIPT}})();
`;
