// A scripted gateway that takes a second for each response: 19 calls of a tool, then the answer.
import { createServer } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';

const { BENCH_STEPS = '20', BENCH_STEP_MS = '1000' } = process.env;
const usage = { prompt_tokens: 100, completion_tokens: 10, total_tokens: 110 };
const frame = (choices, more = {}) =>
  `data: ${JSON.stringify({ id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1, model: 'slow', choices, ...more })}\n\n`;

let calls = 0;
const server = createServer(async (request, response) => {
  const pieces = [];
  for await (const piece of request) pieces.push(piece);
  const { messages } = JSON.parse(Buffer.concat(pieces).toString());
  const steps = messages.filter(({ role }) => role === 'assistant').length;
  await delay(Number(BENCH_STEP_MS));
  calls += 1;
  const call = {
    index: 0,
    id: `call_${calls}`,
    type: 'function',
    function: { name: 'increment', arguments: '{"by":1}' },
  };
  const isLast = steps + 1 >= Number(BENCH_STEPS);
  const delta = isLast ? { content: 'Done.' } : { tool_calls: [call] };
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.write(frame([{ index: 0, delta: { role: 'assistant', ...delta }, finish_reason: null }]));
  response.write(frame([{ index: 0, delta: {}, finish_reason: isLast ? 'stop' : 'tool_calls' }]));
  response.end(`${frame([], { usage })}data: [DONE]\n\n`);
});
server.keepAliveTimeout = 60_000;
server.listen(0, '127.0.0.1', () => process.send?.({ url: `http://127.0.0.1:${server.address().port}/v1` }));
