import type { DialectRequest } from '../dialects/dialect.ts';
import type { OwnName } from '../dialects/tool-names.ts';

/** The tools that a seat lists, as agents name them: with a prefix, or inside a namespace. */
export class SeatTools {
  /** The longest first: one may end as another does. */
  readonly #names: readonly string[];
  readonly #required: readonly string[];

  /** @param required of the names: those that a model has to be offered. */
  constructor(names: readonly string[], required: readonly string[] = names) {
    this.#names = [...names].sort((a, b) => b.length - a.length);
    this.#required = required;
  }

  /** Whether a model needs none of them. */
  get isEmpty(): boolean {
    return this.#required.length === 0;
  }

  /** The seat's tool that an agent means by a name; undefined for a tool of its own. */
  bareName({ own_name }: Pick<OwnName, 'own_name'>): string | undefined {
    return this.#names.find((name) => own_name === name || ENDS.some((end) => own_name.endsWith(`${end}${name}`)));
  }

  /** Names of the seat's tools that a request does not offer to its model. */
  missingIn({ tools }: Pick<DialectRequest, 'tools'>): readonly string[] {
    const offered = new Set(tools.map((tool) => this.bareName(tool)));
    return this.#required.filter((name) => !offered.has(name));
  }
}

const ENDS = ['_', '.', '/'] as const;
