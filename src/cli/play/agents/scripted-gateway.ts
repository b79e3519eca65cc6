import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { z } from 'zod';
import type { JsonObject } from '../../../contract/json.ts';

/** A scripted conversation: tool calls in order, then a text. */
export interface Script {
  readonly calls: readonly { readonly name: string; readonly arguments: JsonObject }[];
  readonly answer: string;
}

/** A scripted model behind chat completions on loopback. The caller closes it. */
export interface ScriptedGateway {
  /** Address that ends in `/v1`. */
  readonly url: string;
  /** Number of answered requests. */
  readonly requests: number;
  close(): Promise<void>;
}

const requestSchema = z.looseObject({
  model: z.string(),
  stream: z.boolean().optional(),
  messages: z.array(z.looseObject({ role: z.string() })),
  tools: z.array(z.looseObject({ function: z.looseObject({ name: z.string() }).optional() })).optional(),
});
type Request = z.infer<typeof requestSchema>;

/** Most bytes of a request, enough for a whole conversation. */
const MAX_BODY_BYTES = 64 * 1_024 * 1_024;
const USAGE = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };

/**
 * Starts a model that makes the tool calls of a script, one in each response. It finds each tool in the offered list
 * by its name after any prefix. A request without the tools, such as one for a title, gets a text.
 */
export async function startScriptedGateway(script: Script): Promise<ScriptedGateway> {
  let requests = 0;
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    for await (const chunk of request as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (bytes <= MAX_BODY_BYTES) chunks.push(chunk);
    }
    const parsed = requestSchema.safeParse(parse(Buffer.concat(chunks).toString('utf8')));
    if (!parsed.success) {
      sendJson(response, 400, {
        error: { message: 'No request for a chat completion', type: 'invalid_request_error' },
      });
      return;
    }
    requests += 1;
    const { stream = false, model } = parsed.data;
    const message = nextMessage(parsed.data, script, requests);
    if (stream) sendStream(response, model, message);
    else {
      const choice = { index: 0, message: { role: 'assistant', ...message }, finish_reason: finishOf(message) };
      sendJson(response, 200, { ...head(model), object: 'chat.completion', choices: [choice], usage: USAGE });
    }
  });
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo; // The server listens on a port.
  return {
    url: `http://127.0.0.1:${port}/v1`,
    get requests() {
      return requests;
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

type Message = ReturnType<typeof nextMessage>;

function nextMessage({ tools = [], messages }: Request, { calls, answer }: Script, id: number) {
  const offered = tools.flatMap((tool) => (tool.function === undefined ? [] : [tool.function.name]));
  const isMain = calls.every(({ name }) => nameAmong(offered, name) !== undefined);
  const made = messages.filter(({ role }) => role === 'tool').length;
  const next = isMain ? calls[made] : undefined;
  if (next === undefined) return { content: isMain ? answer : 'A conversation' };
  const name = nameAmong(offered, next.name) ?? next.name;
  const call = { id: `call_${id}`, type: 'function', function: { name, arguments: JSON.stringify(next.arguments) } };
  return { content: null, tool_calls: [call] };
}

/** Agents prefix the name of a tool with the name of its server, in different ways. */
function nameAmong(offered: readonly string[], name: string): string | undefined {
  return offered.find((each) => each === name || (each.endsWith(name) && /[_./]$/.test(each.slice(0, -name.length))));
}

function finishOf(message: Message): string {
  return 'tool_calls' in message ? 'tool_calls' : 'stop';
}

function head(model: string) {
  return { id: 'chatcmpl-scripted', created: 0, model };
}

function sendJson(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

function sendStream(response: ServerResponse, model: string, message: Message): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  const send = (chunk: object) =>
    response.write(`data: ${JSON.stringify({ ...head(model), object: 'chat.completion.chunk', ...chunk })}\n\n`);
  const calls = 'tool_calls' in message ? message.tool_calls?.map((call, index) => ({ index, ...call })) : undefined;
  const delta = { role: 'assistant', content: message.content, ...(calls === undefined ? {} : { tool_calls: calls }) };
  send({ choices: [{ index: 0, delta, finish_reason: null }] });
  send({ choices: [{ index: 0, delta: {}, finish_reason: finishOf(message) }] });
  send({ choices: [], usage: USAGE });
  response.end('data: [DONE]\n\n');
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
