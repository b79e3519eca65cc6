import { Agent, request } from 'node:http';

/** Sockets are let go of before a server closes them, which would look like a lost connection. */
const agent = new Agent({ keepAlive: true, maxSockets: 64, timeout: 1_000 });

/** What starts a session with `counter`. */
export const COUNT = { scenario: 'count_to', scenario_args: { target: 1 } } as const;

/** One plain turn. @returns the session's id. @throws Error for an answer that is none. */
export async function turn(url: string, fields: object): Promise<string> {
  const text = await post(url, fields);
  const { choices, svc } = JSON.parse(text);
  if (choices?.[0]?.message?.content !== 'Done.') throw new Error(`Not the answer that was scripted: ${text}`);
  return svc.session_id;
}

/** One streamed turn, its text delta by delta as it comes. */
export async function streamedTurn(url: string, fields: object, onContent: (content: string) => void): Promise<void> {
  let unread = '';
  await post(url, { ...fields, stream: true }, (piece) => {
    const lines = (unread + piece).split('\n');
    unread = lines.pop() ?? '';
    for (const line of lines) {
      if (!line.startsWith('data: {')) continue;
      const content = JSON.parse(line.slice('data: '.length)).choices?.[0]?.delta?.content;
      if (content) onContent(content);
    }
  });
}

export async function abandon(url: string, id: string): Promise<void> {
  await send('DELETE', `${url}/v1/sessions/${id}`, undefined, () => {});
}

/** Lets go of the sockets. */
export function hangUp(): void {
  agent.destroy();
}

async function post(url: string, fields: object, onPiece?: (piece: string) => void): Promise<string> {
  const body = JSON.stringify({ messages: [{ role: 'user', content: 'Add one.' }], ...fields });
  let text = '';
  await send('POST', `${url}/v1/chat/completions`, body, (piece) => {
    text += piece;
    onPiece?.(piece);
  });
  return text;
}

function send(method: string, url: string, body: string | undefined, onPiece: (piece: string) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    const length = body === undefined ? 0 : Buffer.byteLength(body);
    const headers = { 'content-type': 'application/json', 'content-length': length };
    const sent = request(url, { method, agent, headers }, (response) => {
      response.setEncoding('utf8');
      let text = '';
      response.on('data', (piece: string) => {
        text += piece;
        onPiece(piece);
      });
      response.on('error', reject);
      response.on('end', () => {
        if (response.statusCode === 200) resolve();
        else reject(new Error(`${method} ${url} answered ${response.statusCode}: ${text}`));
      });
    });
    sent.on('error', reject);
    sent.end(body);
  });
}
