/**
 * What runs on the page of the development helpers: an MCP client of a few lines, which calls tools in a session of the
 * page's own. Results are put in as text, never as HTML.
 */
export const HELPER_SCRIPT = `
'use strict';
(() => {
  const endpoint = document.body.dataset.mcp;
  const status = document.querySelector('.session');
  const renew = document.querySelector('.renew');
  let session;
  let nextId = 1;

  const headers = () => ({
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    ...(session === undefined ? {} : { 'mcp-session-id': session, 'mcp-protocol-version': '2025-11-25' }),
  });

  async function post(message, onNotification, signal) {
    const response = await fetch(endpoint, { method: 'POST', headers: headers(), body: JSON.stringify(message), signal });
    if (response.status === 404) forget('The session has ended.');
    if (message.id === undefined) return { response };
    const type = response.headers.get('content-type') || '';
    if (!type.startsWith('text/event-stream')) return { response, answer: await response.json() };
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    let text = '';
    for (;;) {
      const { done, value } = await reader.read();
      if (done) throw new Error('The server ended the stream without an answer');
      text += value;
      const events = text.split('\\n\\n');
      text = events.pop();
      for (const event of events) {
        const data = event.split('\\n').filter((line) => line.startsWith('data: ')).map((line) => line.slice(6)).join('');
        if (data === '') continue;
        const received = JSON.parse(data);
        if (received.id === message.id && received.method === undefined) return { response, answer: received };
        onNotification(received);
      }
    }
  }

  async function open() {
    if (session !== undefined) return;
    const clientInfo = { name: 'proctor-helpers-page', version: '1' };
    const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo };
    status.textContent = 'A session is being opened…';
    const { response, answer } = await post({ jsonrpc: '2.0', id: nextId++, method: 'initialize', params }, () => {});
    if (answer.error !== undefined) {
      forget('There is no session: ' + answer.error.message);
      throw new Error(answer.error.message);
    }
    session = response.headers.get('mcp-session-id');
    await post({ jsonrpc: '2.0', method: 'notifications/initialized' });
    status.textContent = 'A session is open.';
    renew.hidden = false;
  }

  function forget(why) {
    session = undefined;
    status.textContent = why;
    renew.hidden = true;
  }

  function end() {
    if (session === undefined) return;
    void fetch(endpoint, { method: 'DELETE', headers: headers(), keepalive: true }).catch(() => {});
    forget('No session yet.');
  }

  function argumentsOf(form) {
    const args = {};
    for (const field of form.querySelectorAll('[data-kind]')) {
      const { kind, name } = field.dataset;
      const value = field.value;
      if (value.trim() === '') continue;
      if (kind === 'string') args[name] = value;
      else if (kind === 'number') args[name] = Number(value);
      else if (kind === 'whole') Object.assign(args, JSON.parse(value));
      else args[name] = JSON.parse(value);
    }
    return args;
  }

  function add(parent, tag, text, className) {
    const element = document.createElement(tag);
    if (text !== undefined) element.textContent = text;
    if (className !== undefined) element.className = className;
    parent.append(element);
    return element;
  }

  function show(output, block) {
    const isMedia = typeof block.data === 'string' && /^(image|audio)\\/[a-z0-9.+-]+$/i.test(block.mimeType || '');
    if (block.type === 'text') add(output, 'pre', block.text);
    else if (isMedia && (block.type === 'image' || block.type === 'audio')) {
      const media = add(output, block.type === 'image' ? 'img' : 'audio');
      if (block.type === 'image') media.alt = 'Image of ' + block.mimeType;
      else media.controls = true;
      media.src = 'data:' + block.mimeType + ';base64,' + block.data;
    } else add(output, 'pre', JSON.stringify(block, null, 2));
  }

  function showResult(output, result, took) {
    output.replaceChildren();
    const isError = result.isError === true;
    add(output, 'p', (isError ? 'The tool answered with an error, after ' : 'Answered after ') + took + ' ms', 'state ' + (isError ? 'bad' : 'good'));
    for (const block of result.content || []) show(output, block);
    if (result.structuredContent === undefined) return;
    const details = add(output, 'details');
    add(details, 'summary', 'Structured content');
    add(details, 'pre', JSON.stringify(result.structuredContent, null, 2));
  }

  function showFailure(output, message) {
    output.replaceChildren();
    add(output, 'p', message, 'state bad');
  }

  function showProgress(output, { method, params }) {
    if (method === 'notifications/progress') {
      const total = params.total === undefined ? '' : ' of ' + params.total;
      output.firstChild.textContent = 'Running: ' + params.progress + total + (params.message ? ', ' + params.message : '');
    } else if (method === 'notifications/message') {
      const { level, data } = params;
      add(output, 'pre', level + ': ' + (typeof data === 'string' ? data : JSON.stringify(data)));
    }
  }

  async function call(form) {
    const [submit, cancel] = form.querySelectorAll('button');
    const output = form.querySelector('output');
    const controller = new AbortController();
    const id = nextId++;
    let args;
    try {
      args = argumentsOf(form);
    } catch (error) {
      showFailure(output, 'An argument is not JSON: ' + error.message);
      return;
    }
    const stop = () => {
      controller.abort();
      void post({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: id } }).catch(() => {});
    };
    submit.disabled = true;
    cancel.hidden = false;
    cancel.addEventListener('click', stop);
    output.replaceChildren();
    add(output, 'p', 'Running…', 'state');
    try {
      await open();
      const startedAt = performance.now();
      const params = { name: form.dataset.tool, arguments: args, _meta: { progressToken: id } };
      const request = { jsonrpc: '2.0', id, method: 'tools/call', params };
      const { answer } = await post(request, (received) => showProgress(output, received), controller.signal);
      const took = Math.round(performance.now() - startedAt);
      if (answer.error === undefined) showResult(output, answer.result, took);
      else showFailure(output, answer.error.message);
    } catch (error) {
      showFailure(output, controller.signal.aborted ? 'Cancelled.' : error.message);
    } finally {
      submit.disabled = false;
      cancel.hidden = true;
      cancel.removeEventListener('click', stop);
    }
  }

  document.addEventListener('submit', (event) => {
    event.preventDefault();
    void call(event.target);
  });
  renew.addEventListener('click', end);
  addEventListener('pagehide', end);
})();
`;
