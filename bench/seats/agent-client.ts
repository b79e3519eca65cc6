import { Agent, request } from 'node:http';

/** Sockets are let go of before a server closes them, which would look like a lost connection. */
const agent = new Agent({ keepAlive: true, maxSockets: 64, timeout: 1_000 });

export interface Seat {
  readonly origin: string;
  readonly secret: string;
  readonly traceId: string;
  end(): Promise<void>;
}

/** A seat of `counter`, whose scenario is set up. */
export async function openSeat({ url, key }: { url: string; key: string }, model: string): Promise<Seat> {
  const headers = { authorization: `Bearer ${key}` };
  const fields = { env_name: 'counter', scenario_name: 'count_to', scenario_args: { target: 1 }, model };
  const body = JSON.stringify({ ...fields, max_steps: 500 });
  const seat = JSON.parse(await send(`${url}/v1/agent/seats`, body, headers));
  return {
    origin: url,
    secret: seat.model.api_key,
    traceId: seat.trace_id,
    end: async () => void (await send(`${url}/v1/traces/${seat.trace_id}/cancel`, '', headers)),
  };
}

/** One of the protocols, as an agent speaks it. */
export interface Wire {
  readonly name: string;
  readonly isRelayed: boolean;
  ask(
    side: { readonly origin: string; readonly secret: string },
    model: string,
    onText: (text: string) => void,
  ): Promise<void>;
}

const HELLO = 'Add one.';
let asked = 0;

/** A request of its own each time, since a repeated one is none more. */
const text = () => `${HELLO} ${++asked}`;

export const WIRES: readonly [Wire, ...Wire[]] = [
  wire('chat completions', true, '/v1/chat/completions', (model) => ({
    model,
    stream: true,
    messages: [{ role: 'user', content: text() }],
  })),
  wire('Responses', false, '/v1/responses', (model) => ({ model, stream: true, input: text() })),
  wire('Messages', false, '/v1/messages', (model) => ({
    model,
    stream: true,
    max_tokens: 9_999,
    messages: [{ role: 'user', content: text() }],
  })),
  wire('Gemini', false, '/v1beta/models/m:streamGenerateContent?alt=sse', () => ({
    contents: [{ role: 'user', parts: [{ text: text() }] }],
  })),
];

function wire(name: string, isRelayed: boolean, path: string, toBody: (model: string) => object): Wire {
  return {
    name,
    isRelayed,
    async ask({ origin, secret }, model, onText) {
      const body = JSON.stringify(toBody(model));
      await send(`${origin}${path}`, body, { authorization: `Bearer ${secret}` }, onText);
    },
  };
}

function send(
  url: string,
  body: string,
  more: Readonly<Record<string, string>>,
  onText: (text: string) => void = () => {},
): Promise<string> {
  return new Promise((resolve, reject) => {
    const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body), ...more };
    const sent = request(url, { method: 'POST', agent, headers }, (response) => {
      response.setEncoding('utf8');
      let all = '';
      response.on('data', (piece: string) => {
        all += piece;
        onText(piece);
      });
      response.on('error', reject);
      response.on('end', () => {
        if (response.statusCode === 200) resolve(all);
        else reject(new Error(`${url} answered ${response.statusCode}: ${all}`));
      });
    });
    sent.on('error', reject);
    sent.end(body);
  });
}
