import type { ConnectOptions } from './environment-client.ts';

type OnLog = NonNullable<ConnectOptions['onLog']>;
type Line = Parameters<OnLog>[0];

/** Limits of the log of an unused process. Our choice: it may wait, and print, for days. */
const KEPT = { lines: 1_000, characters: 256 * 1024 } as const;

/** The log of a process that waits for its session: kept until then, its newest lines, and passed on from then on. */
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

  /** Gives what was kept to the session that takes the process, and whatever comes. Call it once. */
  passTo(onLog: OnLog | undefined): void {
    this.#isPassedOn = true;
    this.#onLog = onLog;
    if (this.#dropped > 0) onLog?.(toNote(this.#dropped));
    for (const line of this.#kept.splice(0)) onLog?.(line);
  }
}

function toNote(dropped: number): Line {
  const message = `Of what the environment logged before its session began, the first ${dropped} lines are not kept`;
  return { level: 'warning', logger: 'proctor', message };
}
