import type { DialectRequest } from '../../models/dialects/dialect.ts';
import type { OwnName } from '../../models/dialects/tool-names.ts';

/** The tools that a seat lists. Agents may add a prefix or a namespace to their names. */
export class SeatTools {
  /** Tool names, longest first, because one name may be the end of another. */
  readonly #names: readonly string[];
  readonly #required: readonly string[];

  /** @param required names of the tools that a request has to offer to the model. */
  constructor(names: readonly string[], required: readonly string[] = names) {
    this.#names = [...names].sort((a, b) => b.length - a.length);
    this.#required = required;
  }

  /** True if a model needs none of the tools. */
  get isEmpty(): boolean {
    return this.#required.length === 0;
  }

  /** The seat's tool behind an agent's name for it; undefined if the tool belongs to the agent itself. */
  bareName({ own_name }: Pick<OwnName, 'own_name'>): string | undefined {
    return this.#names.find((name) => own_name === name || ENDS.some((end) => own_name.endsWith(`${end}${name}`)));
  }

  /** Names of required tools that a request does not offer to its model. */
  missingIn({ tools }: Pick<DialectRequest, 'tools'>): readonly string[] {
    const offered = new Set(tools.map((tool) => this.bareName(tool)));
    return this.#required.filter((name) => !offered.has(name));
  }
}

const ENDS = ['_', '.', '/'] as const;
