import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import OpenAI from 'openai';
import { median } from '../mcp/load.ts';
import { openSeat, type Seat } from './agent-client.ts';

/** The tools of `counter`: an agent that has them in its configuration asks its model before its MCP client is ready. */
const TOOLS = ['increment', 'read', 'slow_increment'].map((name) => ({
  type: 'function' as const,
  function: { name, parameters: { type: 'object' } },
}));
/** Milliseconds by which the MCP client of every other agent is late. */
const LATE_MS = 1_000;

/**
 * So many agents at once, each with a real MCP client and a real `openai` client. Each asks its model and connects to its
 * tools at the same time: a race that the gate of the seat decides.
 */
export async function playAtOnce(count: number, service: { url: string; key: string }): Promise<void> {
  const seats = await Promise.all(Array.from({ length: count }, () => openSeat(service, 'turn')));
  const startedAt = performance.now();
  const played = await Promise.all(seats.map((seat, index) => play(seat, index % 2 === 0 ? 0 : LATE_MS)));
  const seconds = (performance.now() - startedAt) / 1_000;
  const outcomes = await Promise.all(seats.map((seat) => outcomeOf(service, seat)));
  const graded = outcomes.filter((outcome) => outcome === 'graded 1').length;
  const early = played.filter(({ wasEarly }) => wasEarly).length;
  console.log(`\n${count} agents at once: ${graded} graded with reward 1, in ${seconds.toFixed(1)} s`);
  console.log(`answered by their model before their tools were listed: ${early} (target 0)`);
  console.log(`median of a whole play: ${median(played.map(({ ms }) => ms)).toFixed(0)} ms`);
}

async function play(seat: Seat, lateMs: number): Promise<{ readonly ms: number; readonly wasEarly: boolean }> {
  const startedAt = performance.now();
  const model = new OpenAI({ baseURL: `${seat.origin}/v1`, apiKey: seat.secret, timeout: 120_000 });
  const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: 'user', content: 'Add one.' }];
  let isAsking = false;
  const asking = model.chat.completions.create({ model: 'any', messages, tools: TOOLS });
  const mcp = new Client({ name: 'bench', version: '1' });
  const listing = new Promise((resolve) => setTimeout(resolve, lateMs)).then(async () => {
    const requestInit = { headers: { authorization: `Bearer ${seat.secret}` } };
    await mcp.connect(new StreamableHTTPClientTransport(new URL(`${seat.origin}/mcp`), { requestInit }));
    isAsking = true;
    await mcp.listTools();
  });
  const { choices } = await asking;
  const wasEarly = !isAsking;
  await listing;
  const message = choices[0]?.message;
  const [call] = message?.tool_calls ?? [];
  if (message === undefined || call?.type !== 'function') throw new Error('The model called no tool');
  await mcp.callTool({ name: call.function.name, arguments: JSON.parse(call.function.arguments) });
  await model.chat.completions.create({
    model: 'any',
    tools: TOOLS,
    messages: [...messages, message, { role: 'tool', tool_call_id: call.id, content: '1' }],
  });
  await mcp.callTool({ name: 'submit_answer', arguments: { answer: 'It shows 1.' } });
  await mcp.close().catch(() => {});
  return { ms: performance.now() - startedAt, wasEarly };
}

async function outcomeOf({ url, key }: { url: string; key: string }, { traceId }: Seat): Promise<string> {
  const reply = await fetch(`${url}/v1/traces/${traceId}?wait=60`, { headers: { authorization: `Bearer ${key}` } });
  const { outcome, reward } = (await reply.json()) as { outcome: string; reward: number };
  return `${outcome} ${reward}`;
}
