import type { DialectRequest } from '../dialects/dialect.ts';
import type { OwnName } from '../dialects/tool-names.ts';

/** The tools that a seat lists, as agents name them: with a prefix, or inside a namespace. */
export class SeatTools {
  /** The longest first: one may end as another does. */
  readonly #names: readonly string[];

  constructor(names: readonly string[]) {
    this.#names = [...names].sort((a, b) => b.length - a.length);
  }

  get isEmpty(): boolean {
    return this.#names.length === 0;
  }

  /** The seat's tool that an agent means by a name; undefined for a tool of its own. */
  bareName({ own_name }: Pick<OwnName, 'own_name'>): string | undefined {
    return this.#names.find((name) => own_name === name || ENDS.some((end) => own_name.endsWith(`${end}${name}`)));
  }

  /** Names of the seat's tools that a request does not offer to its model. */
  missingIn({ tools }: Pick<DialectRequest, 'tools'>): readonly string[] {
    const offered = new Set(tools.map((tool) => this.bareName(tool)));
    return this.#names.filter((name) => !offered.has(name));
  }
}

const ENDS = ['_', '.', '/'] as const;
