// What a reader would write in an afternoon: express, an `openai` client, an MCP client, sessions in a map. It keeps
// nothing but the transcript, retries nothing and checks nothing.
import { Client } from '@modelcontextprotocol/client';
import express from 'express';
import OpenAI from 'openai';
import { openInMemory } from '../../../dist/environment/server/in-memory.js';
import { Counter } from '../../in-memory.mjs';

const openai = new OpenAI({ baseURL: process.env.PROCTOR_GATEWAY_URL, apiKey: 'none' });
const isStreaming = process.env.BENCH_STREAM !== undefined;
const sessions = new Map();

async function open() {
  const client = new Client({ name: 'by-hand', version: '0.0.0' });
  await client.connect(openInMemory(Counter).clientTransport);
  const { tools } = await client.listTools();
  return {
    client,
    messages: [{ role: 'user', content: 'Make the counter show exactly 1.' }],
    tools: tools.map(({ name, description, inputSchema }) => ({
      type: 'function',
      function: { name, description: description ?? '', parameters: inputSchema },
    })),
  };
}

async function ask({ messages, tools }) {
  const body = { model: 'turn', messages, tools };
  if (!isStreaming) {
    const { choices, usage } = await openai.chat.completions.create(body);
    const message = choices[0]?.message;
    const calls = (message?.tool_calls ?? []).filter((call) => call.type === 'function');
    return { content: message?.content ?? '', calls, tokens: usage?.total_tokens ?? 0 };
  }
  let content = '';
  let tokens = 0;
  const calls = [];
  const stream = await openai.chat.completions.create({
    ...body,
    stream: true,
    stream_options: { include_usage: true },
  });
  for await (const { choices, usage } of stream) {
    const delta = choices[0]?.delta;
    content += delta?.content ?? '';
    tokens = usage?.total_tokens ?? tokens;
    for (const { index, id = '', function: made } of delta?.tool_calls ?? []) {
      calls[index] ??= { id, type: 'function', function: { name: '', arguments: '' } };
      const call = calls[index];
      call.function.name += made?.name ?? '';
      call.function.arguments += made?.arguments ?? '';
    }
  }
  return { content, calls, tokens };
}

async function play(session) {
  let tokens = 0;
  for (;;) {
    const answer = await ask(session);
    tokens += answer.tokens;
    const { content, calls } = answer;
    session.messages.push({ role: 'assistant', content, ...(calls.length > 0 ? { tool_calls: calls } : {}) });
    if (calls.length === 0) return { text: content, tokens };
    for (const { id, function: made } of calls) {
      const result = await session.client.callTool({ name: made.name, arguments: JSON.parse(made.arguments) });
      session.messages.push({ role: 'tool', tool_call_id: id, content: JSON.stringify(result.content) });
    }
  }
}

process.on('message', () => process.send?.(process.cpuUsage()));

const app = express();
app.use(express.json({ limit: '4mb' }));
app.post('/v1/chat/completions', async (request, response) => {
  const id = request.body.thread_id ?? crypto.randomUUID();
  const session = sessions.get(id) ?? (await open());
  sessions.set(id, session);
  session.messages.push(...request.body.messages);
  const { text, tokens } = await play(session);
  const message = { role: 'assistant', content: text };
  response.json({
    id: 'chatcmpl-1',
    object: 'chat.completion',
    created: Math.floor(Date.now() / 1_000),
    model: 'turn',
    choices: [{ index: 0, message, finish_reason: 'stop' }],
    usage: { total_tokens: tokens },
    svc: { session_id: id },
  });
});
app.delete('/v1/sessions/:id', async (request, response) => {
  await sessions.get(request.params.id)?.client.close();
  sessions.delete(request.params.id);
  response.json({});
});
const server = app.listen(0, '127.0.0.1', () => {
  process.send?.({ url: `http://127.0.0.1:${server.address().port}` });
});
