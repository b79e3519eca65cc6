import type { ConnectOptions } from './environment-client.ts';

type OnLog = NonNullable<ConnectOptions['onLog']>;
type Line = Parameters<OnLog>[0];

/** Limits of the log of a waiting process, which may print for days before it gets a session. */
const KEPT = { lines: 1_000, characters: 256 * 1024 } as const;

/**
 * The log of a process that waits for its session. It keeps the newest lines until the session begins and passes lines
 * on from then on.
 */
export class BufferedLog {
  readonly #kept: Line[] = [];
  #characters = 0;
  #dropped = 0;
  #isPassedOn = false;
  #onLog: OnLog | undefined;

  readonly add: OnLog = (line) => {
    if (this.#isPassedOn) {
      this.#onLog?.(line);
      return;
    }
    this.#kept.push(line);
    this.#characters += line.message.length;
    while (this.#kept.length > KEPT.lines || (this.#characters > KEPT.characters && this.#kept.length > 1)) {
      this.#characters -= this.#kept.shift()?.message.length ?? 0;
      this.#dropped += 1;
    }
  };

  /** Passes the buffered lines to the session that takes the process, and from now on every new line. Call it once. */
  passTo(onLog: OnLog | undefined): void {
    this.#isPassedOn = true;
    this.#onLog = onLog;
    if (this.#dropped > 0) onLog?.(toNote(this.#dropped));
    for (const line of this.#kept.splice(0)) onLog?.(line);
  }
}

function toNote(dropped: number): Line {
  const message = `The environment logged too much before its session began: the first ${dropped} lines were dropped`;
  return { level: 'warning', logger: 'proctor', message };
}
