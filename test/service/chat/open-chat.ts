import { type IncomingMessage, request as openRequest, type ServerResponse } from 'node:http';
import { onTestFinished, vi } from 'vitest';
import { delta, frames, type Play } from '../../gateway.ts';
import { deferred } from '../../support/http/http-server.ts';

/** A chat request whose reply is read as it comes, and that can be given up. */
export interface OpenChat {
  /** Resolves when the headers have come. */
  readonly begun: Promise<IncomingMessage>;
  /** What has come of the body. */
  readonly text: string;
  /** Resolves when the reply has ended, or the connection. Never rejects. */
  readonly ended: Promise<void>;
  /** Resolves once the body holds this text. */
  heard(text: string): Promise<void>;
  /** Goes away: the socket is destroyed. */
  leave(): void;
}

/** Sends a chat request; `isRead: false` leaves the body of the reply in the socket. */
export function openChat(
  url: string,
  body: object,
  { isRead = true, headers = {} }: { readonly isRead?: boolean; readonly headers?: Record<string, string> } = {},
): OpenChat {
  const begun = deferred<IncomingMessage>();
  const ended = deferred<void>();
  let text = '';
  let onText = () => {};
  const request = openRequest(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    agent: false,
  });
  request.on('response', (response) => {
    begun.resolve(response);
    if (!isRead) return;
    response.setEncoding('utf8').on('data', (piece: string) => {
      text += piece;
      onText();
    });
    response.on('end', () => ended.resolve());
  });
  request.on('error', () => {}); // A socket that was destroyed says so.
  request.on('close', () => ended.resolve());
  request.end(JSON.stringify(body));
  return {
    begun: begun.promise,
    get text() {
      return text;
    },
    ended: ended.promise,
    heard: (wanted) =>
      new Promise((resolve) => {
        onText = () => {
          if (text.includes(wanted)) resolve();
        };
        onText();
      }),
    leave: () => void request.destroy(),
  };
}

/** One request at the gateway that the test answers by hand. */
export interface HeldRequest {
  readonly play: Play;
  /** The reply to write to, once the request has come. */
  readonly asked: Promise<ServerResponse>;
  /** Resolves when the connection of the request is closed before its reply has ended. */
  readonly dropped: Promise<void>;
}

export function holdRequest(): HeldRequest {
  const asked = deferred<ServerResponse>();
  const dropped = deferred<void>();
  return {
    asked: asked.promise,
    dropped: dropped.promise,
    play: (response) => {
      response.on('close', () => {
        if (!response.writableFinished) dropped.resolve();
      });
      asked.resolve(response);
    },
  };
}

/** Begins an event stream with these pieces of text. */
export function beginStream(response: ServerResponse, ...pieces: readonly string[]): void {
  if (!response.headersSent) response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' });
  response.write(frames(delta({ role: 'assistant', content: '' }), ...pieces.map((content) => delta({ content }))));
}

/** Ends an event stream that was begun. */
export function endStream(response: ServerResponse, finishReason = 'stop'): void {
  response.end(`${frames(delta({}, finishReason))}data: [DONE]\n\n`);
}

/** The time of turns, which is over when the test says so, however slow the machine is. */
export function turnClock(): { readonly limitMs: { readonly plain: number; readonly streamed: number }; end(): void } {
  const setTimer = vi.spyOn(globalThis, 'setTimeout');
  onTestFinished(() => setTimer.mockRestore());
  return {
    limitMs: { plain: TURN_MS, streamed: TURN_MS },
    end: () => setTimer.mock.calls.findLast(([, milliseconds]) => milliseconds === TURN_MS)?.[0](),
  };
}

/** A number that no other timer has. */
const TURN_MS = 123_457;

/** @throws Error where the promise takes longer than the contract's second. */
export async function withinASecond(what: string, promise: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`Not within a second: ${what}`)), 1_000);
  });
  try {
    await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
