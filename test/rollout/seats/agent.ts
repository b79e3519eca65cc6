import type { Seat } from '../../../src/contract/service/seat.ts';
import { send } from '../../support/http/http-server.ts';
import { sitDown } from './seat.ts';

/** An agent of a test: an MCP client, and requests to its model addresses as they go over the wire. */
export interface TestAgent {
  readonly mcp: Awaited<ReturnType<typeof sitDown>>;
  /** The tools of the seat as chat completions offers them, under the prefix that some agents put before them. */
  readonly tools: readonly object[];
  /** `POST /v1/chat/completions`, not streamed unless the body says so. */
  ask(body: object, headers?: Readonly<Record<string, string>>): ReturnType<typeof send>;
  /** The same with the tools and one message of the user, or these. */
  say(messages: string | readonly object[], more?: object): ReturnType<typeof send>;
}

/** An agent that has listed its tools. */
export async function createAgent(seat: Pick<Seat, 'mcp'>): Promise<TestAgent> {
  const mcp = await sitDown(seat);
  const { tools: listed } = await mcp.listTools();
  const tools = listed.map(({ name, inputSchema }) => ({
    type: 'function',
    function: { name: `mcp__env__${name}`, parameters: inputSchema },
  }));
  const ask: TestAgent['ask'] = (body, headers = {}) => askModel(seat, '/v1/chat/completions', body, headers);
  const say: TestAgent['say'] = (messages, more = {}) =>
    ask({
      model: 'any',
      messages: typeof messages === 'string' ? [{ role: 'user', content: messages }] : messages,
      tools,
      ...more,
    });
  return { mcp, tools, ask, say };
}

export function askModel(
  seat: Pick<Seat, 'mcp'>,
  path: string,
  body: object,
  headers: Readonly<Record<string, string>> = {},
): ReturnType<typeof send> {
  const key = String(seat.mcp.headers.Authorization);
  return send(new URL(seat.mcp.url).origin, path, {
    method: 'POST',
    headers: { authorization: key, 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });
}
