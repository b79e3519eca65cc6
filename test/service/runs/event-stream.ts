import { type IncomingMessage, request as openRequest } from 'node:http';
import { onTestFinished } from 'vitest';
import { deferred } from '../../support/http/http-server.ts';

export interface Frame {
  readonly id: number | undefined;
  readonly event: string;
  readonly data: {
    readonly seq?: number;
    readonly type: string;
    readonly attempt: number;
    readonly [key: string]: unknown;
  };
}

/** A stream of events that is read as it comes, and that can be given up. */
export interface EventStream {
  readonly begun: Promise<IncomingMessage>;
  readonly frames: readonly Frame[];
  readonly comments: number;
  /** Resolves when the reply has ended as a reply does; rejects where its connection was cut. */
  readonly ended: Promise<void>;
  /** Resolves once a frame of this type has come. */
  heard(type: string): Promise<void>;
  leave(): void;
}

export function openEvents(
  service: { readonly url: string; readonly key: string },
  traceId: string,
  headers: Readonly<Record<string, string>> = {},
): EventStream {
  const begun = deferred<IncomingMessage>();
  const frames: Frame[] = [];
  let comments = 0;
  let rest = '';
  let onFrame = () => {};
  const request = openRequest(`${service.url}/v1/traces/${traceId}/events`, {
    headers: { authorization: `Bearer ${service.key}`, ...headers },
    agent: false,
  });
  const take = (block: string) => {
    const fields = block.split('\n');
    if (fields.every((line) => line.startsWith(':'))) {
      comments++;
      return;
    }
    const field = (name: string) => fields.find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2);
    const id = field('id');
    frames.push({
      id: id === undefined ? undefined : Number(id),
      event: field('event') ?? '',
      data: JSON.parse(field('data') ?? ''),
    });
  };
  const ended = new Promise<void>((resolve, reject) => {
    request.on('response', (response) => {
      begun.resolve(response);
      response.setEncoding('utf8').on('data', (piece: string) => {
        const blocks = (rest + piece).split('\n\n');
        rest = blocks.pop() ?? '';
        for (const block of blocks) take(block);
        onFrame();
      });
      response.on('end', resolve);
      response.on('error', reject);
    });
    request.on('error', reject);
  });
  ended.catch(() => {}); // Who waits for it says so.
  request.end();
  onTestFinished(() => void request.destroy());
  return {
    begun: begun.promise,
    frames,
    get comments() {
      return comments;
    },
    ended,
    heard: (type) =>
      new Promise((resolve) => {
        onFrame = () => {
          if (frames.some(({ event }) => event === type)) resolve();
        };
        onFrame();
      }),
    leave: () => void request.destroy(),
  };
}
