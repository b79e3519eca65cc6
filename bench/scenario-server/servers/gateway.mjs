// A scripted gateway: what it answers hangs on the model's name. It takes no time of its own.
import { createServer } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';

const DELTAS = 200;
/** Wide enough that a delta is through before the next one comes. */
const DELTA_GAP_MS = 2;

const chunk = (delta, finish_reason = null) =>
  `data: ${JSON.stringify({
    id: 'chatcmpl-1',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'scripted',
    choices: [{ index: 0, delta, logprobs: null, finish_reason }],
  })}\n\n`;
const usage = { prompt_tokens: 100, completion_tokens: 10, total_tokens: 110 };
const end = (finish_reason) =>
  `${chunk({}, finish_reason)}data: ${JSON.stringify({ id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1, model: 'scripted', choices: [], usage })}\n\ndata: [DONE]\n\n`;

let calls = 0;
function toolCall() {
  calls += 1;
  return { id: `call_${calls}`, type: 'function', function: { name: 'increment', arguments: '{"by":1}' } };
}

/** Calls the tool once in each turn, then answers; as `word` it answers at once. */
function answerTurn(response, { model, messages, stream }) {
  const isCall = model !== 'word' && messages.at(-1).role === 'user';
  if (stream) {
    const call = isCall ? { tool_calls: [{ index: 0, ...toolCall() }] } : { content: 'Done.' };
    const start = chunk({ role: 'assistant', content: '' });
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.end(`${start}${chunk(call)}${end(isCall ? 'tool_calls' : 'stop')}`);
    return;
  }
  const message = {
    role: 'assistant',
    content: isCall ? null : 'Done.',
    ...(isCall ? { tool_calls: [toolCall()] } : {}),
  };
  const choices = [{ index: 0, message, logprobs: null, finish_reason: isCall ? 'tool_calls' : 'stop' }];
  response.writeHead(200, { 'content-type': 'application/json' });
  response.end(
    JSON.stringify({ id: 'chatcmpl-1', object: 'chat.completion', created: 1, model: 'scripted', choices, usage }),
  );
}

/** Each delta is the time at which it was written, in nanoseconds of the clock that all processes share. */
async function answerClock(response) {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.write(chunk({ role: 'assistant', content: '' }));
  for (let sent = 0; sent < DELTAS; sent += 1) {
    response.write(chunk({ content: `${process.hrtime.bigint()};` }));
    await delay(DELTA_GAP_MS);
  }
  response.end(end('stop'));
}

const server = createServer(async (request, response) => {
  const pieces = [];
  for await (const piece of request) pieces.push(piece);
  const body = JSON.parse(Buffer.concat(pieces).toString());
  if (body.model === 'clock') await answerClock(response);
  else answerTurn(response, body);
});
server.keepAliveTimeout = 60_000;
server.listen(0, '127.0.0.1', () => {
  process.send?.({ url: `http://127.0.0.1:${server.address().port}/v1` });
});
