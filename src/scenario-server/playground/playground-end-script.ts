/** The part of the playground's script that ends a session, starts anew, and shows a session again after the page was loaded anew. */
export const PLAYGROUND_END_SCRIPT = `
  function askForAnswer(isAsking) {
    show('submit', isAsking);
    show('say', !isAsking);
    byId('answer-hint').textContent = session.hasTextAnswer ? 'optional: left blank, the last text of the model' : 'JSON, optional: left blank, the last text of the model';
    show('answer-schema', session.answerSchema !== null);
    document.querySelector('#answer-schema pre').textContent = visible(JSON.stringify(session.answerSchema, withoutVastBounds, 2));
    byId(isAsking ? 'answer' : 'message').focus();
    follow();
  }

  function withoutVastBounds(key, value) {
    return (key === 'minimum' || key === 'maximum') && typeof value === 'number' && !isBound(value) ? undefined : value;
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
    showState('Evaluating…');
    try {
      const result = await (await ask('/playground/finish', body)).json();
      addReward(result);
      endSession(result.status);
    } catch (error) {
      addNote(error.message, true);
      showState('');
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
    remember(undefined);
    for (const id of ['message', 'answer']) byId(id).value = '';
    log.replaceChildren();
    show('session', false);
    show('start', true);
    show('empty', true);
    byId('scenario').focus();
  }

  /** Shows the session of the page's address again, with what was said so far. */
  async function restore() {
    const id = remembered();
    if (id === undefined) return;
    let kept;
    try {
      kept = await (await ask('/playground/sessions/' + id)).json();
    } catch (error) {
      remember(undefined);
      return showProblem(error);
    }
    if (remembered() !== id || running !== undefined) return;
    openSession(kept, kept);
    showState('');
    for (const frames of kept.turns) {
      const view = createTurnView(() => kept.model);
      for (const frame of frames) showFrame(frame, view);
      if (!kept.is_busy) view.end();
    }
    showSteps(kept.steps); // Those of a turn that failed, too.
    if (kept.is_busy) followUp();
    else if (kept.status === 'active') byId('message').focus({ preventScroll: true });
    else showEnd(kept);
  }

  /** A turn that runs without this page: nobody else tells how it goes on. */
  function followUp() {
    showState('A turn goes on that this page does not follow: it shows here when it is over.');
    show('say', false);
    show('abandon', false);
    setTimeout(restore, 1000);
  }

  function showEnd({ status, message, result }) {
    const isLeft = status === 'failed' && hasLeftFirstTurn() && /went away/.test(message);
    if (result !== null) addReward(result);
    else if (isLeft) addNote('You left the page during the first turn, so the session was closed: start a new one.', true);
    else addNote(status === 'abandoned' ? 'Abandoned: it was not evaluated.' : message || 'The session has failed.', status !== 'abandoned');
    endSession(status);
  }
`;
