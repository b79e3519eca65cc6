import { createHash } from 'node:crypto';
import type { AgentTool } from '../contract/chat.ts';

/** Limit of gateways. */
const MAX_LENGTH = 64;

/** A tool that an agent offers to its model and calls itself. */
export interface OfferedTool extends AgentTool {
  /** Its name in the agent's request. */
  readonly own_name: string;
  /** The group of tools that it is in (Responses). */
  readonly namespace: string | null;
  /** `custom`: its input is a text, here the argument `input`. `typed`: a tool that the provider defines and the agent runs. */
  readonly form: 'function' | 'custom' | 'typed';
}

/** A tool as it is in a request. */
export type NewTool = Pick<OfferedTool, 'own_name' | 'namespace' | 'form'> & Omit<AgentTool, 'name'>;

/** How a dialect names a tool. */
export type OwnName = Pick<OfferedTool, 'own_name' | 'namespace' | 'form'>;

/**
 * The tools of a request, each under one name that every gateway takes: a namespace goes before the name, what is no
 * letter, digit, `_` or `-` becomes `_`, and names that are too long or taken end in a hash of the whole.
 */
export class ToolNames {
  readonly #tools: OfferedTool[] = [];
  readonly #byName = new Map<string, OfferedTool>();
  readonly #byOwnName = new Map<string, OfferedTool>();

  get tools(): readonly OfferedTool[] {
    return this.#tools;
  }

  /** Adds a tool; of two with the same namespace and name the first stays. */
  add(tool: NewTool): void {
    const key = keyOf(tool.namespace, tool.own_name);
    if (this.#byOwnName.has(key)) return;
    const offered = { ...tool, name: this.#toFreeName(tool) };
    this.#tools.push(offered);
    this.#byName.set(offered.name, offered);
    this.#byOwnName.set(key, offered);
  }

  /** The name here of a tool of the dialect. A tool that is not offered, in an old call, gets one too. */
  toName(ownName: string, namespace: string | null = null): string {
    return this.#byOwnName.get(keyOf(namespace, ownName))?.name ?? toValidName(joined(namespace, ownName));
  }

  /** The dialect's name of a tool here. A name that the model has made up stays as it is. */
  toOwn(name: string): OwnName {
    return this.#byName.get(name) ?? { own_name: name, namespace: null, form: 'function' };
  }

  #toFreeName({ namespace, own_name }: NewTool): string {
    const whole = joined(namespace, own_name);
    const name = toValidName(whole);
    for (let round = 0; ; round += 1) {
      const free = round === 0 ? name : withHash(name, `${whole}\0${namespace}\0${round}`);
      if (!this.#byName.has(free)) return free;
    }
  }
}

function keyOf(namespace: string | null, name: string): string {
  return JSON.stringify([namespace, name]);
}

/** Some agents have the namespace in the name already. */
function joined(namespace: string | null, name: string): string {
  return namespace === null || name.startsWith(`${namespace}__`) ? name : `${namespace}__${name}`;
}

function toValidName(name: string): string {
  const valid = name.replaceAll(/[^A-Za-z0-9_-]/g, '_') || 'unnamed';
  return valid.length <= MAX_LENGTH ? valid : withHash(valid, name);
}

function withHash(name: string, whole: string): string {
  const hash = createHash('sha256').update(whole).digest('hex').slice(0, 8);
  return `${name.slice(0, MAX_LENGTH - hash.length - 1)}_${hash}`;
}
