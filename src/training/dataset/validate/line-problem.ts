/** One problem of a line. */
export interface LineProblem {
  /** `warning`: the trainer, or at least some trainers, accept the line. */
  readonly level: 'error' | 'warning';
  /** The kind of problem, for counting. */
  readonly code: string;
  /** Dotted path of the field, such as `messages.3.tool_calls.0.id`; empty for the line. */
  readonly path: string;
  /** A sentence without a full stop. */
  readonly message: string;
}

/** Collects the problems of a line, up to a limit. */
export class Problems {
  readonly #list: LineProblem[] = [];

  get list(): readonly LineProblem[] {
    return this.#list;
  }

  error(code: string, path: string, message: string): void {
    this.#add({ level: 'error', code, path, message });
  }

  warning(code: string, path: string, message: string): void {
    this.#add({ level: 'warning', code, path, message });
  }

  #add(problem: LineProblem): void {
    if (this.#list.length < MAX_OF_LINE) this.#list.push(problem);
  }
}

const MAX_OF_LINE = 20;
