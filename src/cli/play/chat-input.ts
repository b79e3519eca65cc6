import { createInterface, type Interface } from 'node:readline';

/** The next input of the user. */
export type ChatLine =
  | { readonly type: 'message'; readonly text: string }
  | { readonly type: 'finish'; readonly answer: string | undefined }
  | { readonly type: 'quit' }
  /** An unknown command, such as `/help`. */
  | { readonly type: 'unknown'; readonly command: string };

/** A running turn or evaluation that Ctrl-C stops. The creator ends it. */
export interface BusyTime {
  readonly signal: AbortSignal;
  end(): void;
}

/** npm and npx forward a signal that the terminal has already sent to this process, so one key press arrives twice. */
const SAME_PRESS_MS = 500;

/**
 * Reads standard input line by line, from a terminal or a pipe. The end of the input finishes the session. Ctrl-C
 * stops a running turn; without one, or the second time, it abandons the session. SIGTERM abandons at once.
 */
export class ChatInput {
  readonly isTerminal: boolean = process.stdin.isTTY === true;
  readonly #lines: Interface;
  readonly #waiting: string[] = [];
  #isEnded = false;
  #isAbandoned = false;
  #wake: (() => void) | undefined;
  #busy: AbortController | undefined;
  #pressedAt = Number.NEGATIVE_INFINITY;
  readonly #onSignal = (name?: NodeJS.Signals) => this.#interrupt(name);

  constructor() {
    this.#lines = createInterface({
      input: process.stdin,
      output: process.stderr,
      terminal: this.isTerminal,
      prompt: '> ',
    });
    this.#lines.on('line', (line) => {
      this.#waiting.push(line);
      this.#wake?.();
    });
    this.#lines.once('close', () => {
      this.#isEnded = true;
      this.#wake?.();
    });
    // In a terminal, readline handles Ctrl-C.
    this.#lines.on('SIGINT', () => this.#onSignal());
    process.on('SIGINT', this.#onSignal);
    process.on('SIGTERM', this.#onSignal);
  }

  /** Reads the next line that is not blank. */
  async read(): Promise<ChatLine> {
    for (;;) {
      if (this.#isAbandoned) return { type: 'quit' };
      const line = this.#waiting.shift()?.trim();
      if (line === undefined && this.#isEnded) return { type: 'finish', answer: undefined };
      if (line === undefined) await this.#more();
      else if (line !== '') return toLine(line);
    }
  }

  whileBusy(): BusyTime {
    const controller = new AbortController();
    if (this.#isAbandoned) controller.abort(new Error('Abandoned'));
    this.#busy = controller;
    return {
      signal: controller.signal,
      end: () => {
        this.#busy = undefined;
      },
    };
  }

  close(): void {
    process.off('SIGINT', this.#onSignal);
    process.off('SIGTERM', this.#onSignal);
    this.#lines.close();
  }

  async #more(): Promise<void> {
    if (this.isTerminal) this.#lines.prompt();
    await new Promise<void>((resolve) => {
      this.#wake = resolve;
    });
    this.#wake = undefined;
  }

  #interrupt(name: NodeJS.Signals = 'SIGINT'): void {
    const isSamePress = performance.now() - this.#pressedAt < SAME_PRESS_MS;
    if (isSamePress) return;
    this.#pressedAt = performance.now();
    const wasBusy = this.#busy !== undefined && !this.#busy.signal.aborted;
    this.#busy?.abort(new Error(name === 'SIGTERM' ? 'Stopped by SIGTERM' : 'Stopped by Ctrl-C'));
    if (wasBusy && name !== 'SIGTERM') return;
    this.#isAbandoned = true;
    this.#wake?.();
  }
}

function toLine(line: string): ChatLine {
  const [, command, rest] = /^\/(finish|quit|exit)(?:\s+(.*))?$/s.exec(line) ?? [];
  if (command === undefined) return toMessage(line);
  return command === 'finish' ? { type: 'finish', answer: rest } : { type: 'quit' };
}

/** Parses a line. `//` escapes a slash, and a path such as `/etc/hosts` is text. */
function toMessage(line: string): ChatLine {
  if (line.startsWith('//')) return { type: 'message', text: line.slice(1) };
  const [command] = /^\/[^\s/]+(?=\s|$)/.exec(line) ?? [];
  return command === undefined ? { type: 'message', text: line } : { type: 'unknown', command };
}
