import { createHash } from 'node:crypto';
import type { AgentTool } from '../../contract/chat.ts';

/** Longest tool name that gateways accept. */
const MAX_LENGTH = 64;

/** A tool that an agent offers to its model and calls itself. */
export interface OfferedTool extends AgentTool {
  /** Name in the agent's request. */
  readonly own_name: string;
  /** Namespace that contains the tool (Responses). */
  readonly namespace: string | null;
  /**
   * `custom`: the input is plain text, internally the argument `input`. `typed`: the provider defines the tool and the
   * agent runs it.
   */
  readonly form: 'function' | 'custom' | 'typed';
}

/** A tool as a request defines it. */
export type NewTool = Pick<OfferedTool, 'own_name' | 'namespace' | 'form'> & Omit<AgentTool, 'name'>;

/** A tool's name in a dialect. */
export type OwnName = Pick<OfferedTool, 'own_name' | 'namespace' | 'form'>;

/**
 * The tools of a request, each under a unique name that every gateway accepts. A namespace becomes a prefix, other
 * characters than letters, digits, `_` and `-` become `_`, and a name that is too long or taken ends in a hash of the
 * full name.
 */
export class ToolNames {
  readonly #tools: OfferedTool[] = [];
  readonly #byName = new Map<string, OfferedTool>();
  readonly #byOwnName = new Map<string, OfferedTool>();

  get tools(): readonly OfferedTool[] {
    return this.#tools;
  }

  /** Adds a tool. A second one with the same namespace and name is ignored. */
  add(tool: NewTool): void {
    const key = keyOf(tool.namespace, tool.own_name);
    if (this.#byOwnName.has(key)) return;
    const offered = { ...tool, name: this.#toFreeName(tool) };
    this.#tools.push(offered);
    this.#byName.set(offered.name, offered);
    this.#byOwnName.set(key, offered);
  }

  /** The internal name of a dialect's tool. A tool in an old call that is no longer offered gets one, too. */
  toName(ownName: string, namespace: string | null = null): string {
    return this.#byOwnName.get(keyOf(namespace, ownName))?.name ?? toValidName(joined(namespace, ownName));
  }

  /** The dialect's name of a tool. A name that the model invented stays unchanged. */
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

/** Adds the namespace unless the agent has put it into the name already. */
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
