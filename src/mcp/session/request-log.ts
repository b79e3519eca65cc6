import { inspect } from 'node:util';
import type { Log, LogLevel } from '../../environment/definition.ts';

/** Unread messages of one request, beyond which further ones are dropped. */
const MAX_BACKLOG = { messages: 1_000, characters: 1024 * 1024 } as const;

/**
 * The log of one request. `send` resolves when the client can take more: of a client that does not read, messages are
 * dropped once too many wait, so that a tool that logs without end does not fill this process's memory. It is told how
 * many when it reads again.
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
    // A client that has gone away misses a message, and nothing can be done about it.
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
