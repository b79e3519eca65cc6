import { inspect } from 'node:util';
import type { Log, LogLevel } from '../../authoring/definition.ts';

/** Maximum number of unread messages and characters of one request. Further messages are dropped. */
const MAX_BACKLOG = { messages: 1_000, characters: 1024 * 1024 } as const;

/**
 * Makes the log of one request. `send` resolves when the client can take more. If too many messages are unread, further
 * ones are dropped, so that a tool that logs endlessly does not fill the memory. The client learns the number of
 * dropped messages when it reads again.
 */
export function createRequestLog(send: (level: LogLevel, text: string) => Promise<void>): Log {
  let waiting = 0;
  let characters = 0;
  let dropped = 0;

  const deliver = (level: LogLevel, text: string) => {
    waiting += 1;
    characters += text.length;
    const settle = () => {
      waiting -= 1;
      characters -= text.length;
      if (waiting > 0 || dropped === 0) return;
      const count = dropped;
      dropped = 0;
      deliver('warning', `${count} log messages were dropped, because they were not read in time`);
    };
    // An error means that the client has disconnected, and is ignored.
    send(level, text).then(settle, settle);
  };
  const write = (level: LogLevel, message: unknown) => {
    const text = typeof message === 'string' ? message : inspect(message);
    if (waiting >= MAX_BACKLOG.messages || characters >= MAX_BACKLOG.characters) dropped += 1;
    else deliver(level, text);
  };
  return Object.assign((message: string) => write('info', message), {
    debug: (message: string) => write('debug', message),
    info: (message: string) => write('info', message),
    warning: (message: string) => write('warning', message),
    error: (message: string) => write('error', message),
  });
}
