import { PLAYGROUND_CHAT_SCRIPT } from './playground-chat-script.ts';
import { PLAYGROUND_CLIENT_SCRIPT } from './playground-client-script.ts';
import { PLAYGROUND_END_SCRIPT } from './playground-end-script.ts';
import { PLAYGROUND_FORM_SCRIPT } from './playground-form-script.ts';
import { PLAYGROUND_START_SCRIPT } from './playground-start-script.ts';
import { PLAYGROUND_TURN_SCRIPT } from './playground-turn-script.ts';

/** What the page's controls do. A session is held on the server; the page knows its id. */
const PLAYGROUND_CONTROLS_SCRIPT = `
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
  addEventListener('hashchange', () => location.reload());
  addEventListener('beforeunload', (event) => {
    if (running !== undefined) event.preventDefault(); // The turn would be stopped.
  });
  void readChoices();
  void restore();
`;

/** What runs on the page of the playground: written by hand, without anything from elsewhere. */
export const PLAYGROUND_SCRIPT = `'use strict';
(() => {${[
  PLAYGROUND_FORM_SCRIPT,
  PLAYGROUND_CHAT_SCRIPT,
  PLAYGROUND_CLIENT_SCRIPT,
  PLAYGROUND_START_SCRIPT,
  PLAYGROUND_TURN_SCRIPT,
  PLAYGROUND_END_SCRIPT,
  PLAYGROUND_CONTROLS_SCRIPT,
].join('')}})();
`;
