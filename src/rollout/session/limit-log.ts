import type { ConnectOptions } from '../../environment/client/environment-client.ts';

type OnLog = NonNullable<ConnectOptions['onLog']>;

/** Limits of the environment's log in one attempt, so that endless output does not fill the store. */
const LOG_LIMITS = { lines: 10_000, characters: 4 * 1024 * 1024 } as const;

/** Passes log lines on until a limit is reached. Then it logs one notice and drops later lines. */
export function limitLog(onLog: OnLog): OnLog {
  let lines = 0;
  let characters = 0;
  let isFull = false;
  return (log) => {
    if (isFull) return;
    lines += 1;
    characters += log.message.length;
    isFull = lines > LOG_LIMITS.lines || characters > LOG_LIMITS.characters;
    onLog(isFull ? FULL : log);
  };
}

const FULL = {
  level: 'warning',
  logger: 'proctor',
  message: `The environment logs more than ${LOG_LIMITS.lines} lines or ${LOG_LIMITS.characters / 1024 / 1024} MiB: from here on its log is not kept`,
} as const;
