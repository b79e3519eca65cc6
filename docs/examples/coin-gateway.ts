// Models that flip a coin: coin-60 is right in 60 of 100 attempts. `npx tsx coin-gateway.ts 8399` serves them as a gateway.
import { createHash } from 'node:crypto';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import { json } from 'node:stream/consumers';

interface ChatRequest {
  readonly model: string;
  readonly seed?: number;
  readonly messages: readonly { readonly role: string; readonly content?: unknown }[];
}

/** The same attempt of the same model has the same answer, whenever it is asked. */
function isRight({ model, seed = 0, messages }: ChatRequest): boolean {
  const [, percent = '50'] = /^coin-(\d+)/.exec(model) ?? [];
  const text = JSON.stringify([model, seed, messages[0]?.content]);
  return createHash('sha256').update(text).digest().readUInt32BE(0) / 2 ** 32 < Number(percent) / 100;
}

/** Counts to the target of the counter environment, or one too far; then it says that it is done. */
function respond(request: ChatRequest) {
  if (request.messages.at(-1)?.role === 'tool') return { content: 'Done.' };
  const [, target = '0'] = /exactly (\d+)/.exec(JSON.stringify(request.messages)) ?? [];
  const by = Number(target) + (isRight(request) ? 0 : 1);
  const call = { name: 'increment', arguments: JSON.stringify({ by }) };
  return { tool_calls: [{ index: 0, id: 'call_1', type: 'function', function: call }] };
}

export function createCoinGateway(): Server {
  return createServer(async (request: IncomingMessage, response) => {
    if (request.method !== 'POST') return void response.writeHead(404).end();
    const body = (await json(request)) as ChatRequest;
    const finish_reason = body.messages.at(-1)?.role === 'tool' ? 'stop' : 'tool_calls';
    const chunk = { choices: [{ index: 0, delta: { role: 'assistant', ...respond(body) }, finish_reason }] };
    const usage = { prompt_tokens: 1_000, completion_tokens: 200, total_tokens: 1_200 };
    const lines = [chunk, { choices: [], usage }].map((data) => `data: ${JSON.stringify(data)}\n\n`);
    response.writeHead(200, { 'content-type': 'text/event-stream' }).end(`${lines.join('')}data: [DONE]\n\n`);
  });
}

if (process.argv[1]?.endsWith('coin-gateway.ts')) createCoinGateway().listen(Number(process.argv[2]), '127.0.0.1');
