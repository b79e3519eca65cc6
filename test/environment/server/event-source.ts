import { type IncomingMessage, request } from 'node:http';
import { onTestFinished } from 'vitest';
import { until } from '../../until.ts';

export interface ServerEvent {
  readonly id: string | undefined;
  readonly event: string;
  readonly data: string;
}

/** An open stream of server-sent events over a raw socket. Closed when the test ends. */
export class EventSource {
  readonly events: ServerEvent[] = [];
  readonly response: IncomingMessage;
  hasEnded = false;

  private constructor(response: IncomingMessage) {
    this.response = response;
    let text = '';
    response.setEncoding('utf8').on('data', (chunk: string) => {
      const blocks = (text + chunk).split('\n\n');
      text = blocks.pop() ?? '';
      for (const block of blocks) if (!block.startsWith(':')) this.events.push(parse(block));
    });
    const end = () => {
      this.hasEnded = true;
    };
    response.once('end', end).once('close', end).on('error', end);
  }

  /** A GET, or a POST where there is a body. */
  static open(url: string, headers: Readonly<Record<string, string>> = {}, body?: string): Promise<EventSource> {
    return new Promise((resolve, reject) => {
      const all = {
        accept: 'application/json, text/event-stream',
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      };
      const outgoing = request(url, { method: body === undefined ? 'GET' : 'POST', headers: all, agent: false });
      outgoing.on('error', reject);
      outgoing.once('response', (response) => resolve(new EventSource(response)));
      outgoing.end(body);
      onTestFinished(() => void outgoing.destroy());
    });
  }

  /** The messages of MCP that have come. */
  get messages(): Record<string, unknown>[] {
    return this.events
      .filter(({ data }) => data.startsWith('{') || data.startsWith('['))
      .map(({ data }) => JSON.parse(data));
  }

  async has(count: number): Promise<void> {
    await until(() => this.messages.length >= count);
  }

  async ended(): Promise<void> {
    await until(() => this.hasEnded);
  }

  /** The connection breaks. */
  cut(): void {
    this.response.destroy();
  }
}

function parse(block: string): ServerEvent {
  const field = (name: string) =>
    block
      .split('\n')
      .filter((line) => line.startsWith(`${name}: `))
      .map((line) => line.slice(name.length + 2))
      .join('\n');
  return { id: field('id') || undefined, event: field('event') || 'message', data: field('data') };
}
