/** The part of the playground's script that plays turns, and shows what a session's state is. */
export const PLAYGROUND_TURN_SCRIPT = `
  let session;
  let running;

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
          if (isFirst) {
            openSession(frame, body);
            remember(frame.session_id, true);
          }
          continue;
        }
        showFrame(frame, view);
        if (frame.type === 'prompt' && first.trim() !== '') addBubble('user', 'You', first);
        if (frame.type !== 'answered' && frame.type !== 'failed') continue;
        isOver = true;
        remember(session.id);
      }
      if (!isOver) throw new Error('The connection ended before the answer.');
    } catch (error) {
      if (isFirst && session === undefined) throw error;
      const isStopped = controller.signal.aborted;
      if (isStopped) remember(session.id);
      addNote(isStopped ? (isFirst ? 'Stopped. A session whose first turn has no answer is closed.' : 'Stopped. What the model had done before is kept; say how to go on.') : error.message, !isStopped);
      if (isFirst) endSession('failed');
    } finally {
      view.end();
      running = undefined;
      setBusy(false);
    }
  }

  function showFrame(frame, view) {
    if (frame.type === 'prompt') {
      session.hasTextAnswer = frame.has_text_answer;
      session.answerSchema = frame.answer_schema;
      view.prompt(frame);
    } else if (frame.type === 'message') addBubble('user', frame.role === 'user' ? 'You' : 'You, ' + frame.role, frame.text);
    else if (frame.type === 'step') {
      view.step();
      session.step = frame.step;
      showSteps(frame.step - 1);
    }
    else if (frame.type === 'text') view.text(frame.text);
    else if (frame.type === 'reasoning') view.reasoning(frame.text);
    else if (frame.type === 'tool_call') {
      view.call(frame);
      showSteps(session.step);
    }
    else if (frame.type === 'tool_result') view.result(frame);
    else if (frame.type === 'answered') showAnswered(frame);
    else if (frame.type === 'failed') {
      addNote(frame.message, true);
      if (frame.status !== 'active') endSession(frame.status);
    }
  }

  function setBusy(isBusy) {
    log.setAttribute('aria-busy', String(isBusy));
    document.body.classList.toggle('busy', isBusy);
    for (const id of ['send', 'finish', 'abandon']) byId(id).disabled = isBusy;
    document.querySelector('#start [type="submit"]').disabled = isBusy;
    show('stop', isBusy);
    if (isBusy) showState(session === undefined ? 'Starting…' : 'The model is at work…');
    else if (byId('state').textContent.endsWith('…')) showState('');
    if (!isBusy && session !== undefined && session.isActive) byId('message').focus({ preventScroll: true });
  }

  function showState(text) {
    byId('state').textContent = text;
    if (session !== undefined) follow(); // Before, the form is what somebody looks at.
  }

  /** Those that are complete, however the turn ends. */
  function showSteps(count) {
    byId('fact-steps').textContent = String(count);
  }

  function openSession({ session_id, trace_url, model }, { scenario, scenario_args }) {
    session = { id: session_id, model, isActive: true, hasTextAnswer: true, answerSchema: null };
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
    showState('The model is at work…');
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
    showSteps(steps);
    if (finish_reason === 'length') addNote('The model was cut off: it had used all the steps or tokens of a turn. A message lets it go on.');
    if (finish_reason === 'content_filter') addNote('The gateway held back the rest (content filter).');
    showState('Your turn: write to the model, or finish to have it evaluated.');
  }

  function endSession(status) {
    session.isActive = false;
    byId('fact-status').textContent = status;
    showState('');
    show('say', false);
    show('submit', false);
    show('abandon', false);
    show('new', true);
    byId('new').focus({ preventScroll: true });
  }
`;
