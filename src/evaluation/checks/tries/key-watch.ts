import { basename } from 'node:path';
import type { EnvironmentTarget } from '../../../environment/client/environment-client.ts';
import { findMarked, readProcesses, startVariables } from '../../../environment/process/process-table.ts';
import type { Secret } from '../../../support/redaction/redactor.ts';
import { toDigest, toVariableDigests, type VariableDigests } from '../player/variable-digests.ts';
import { Probe } from './probe.ts';

/** Reasons why an environment has no child process here. */
export const NO_CHILD = {
  url: 'it is a server elsewhere',
  memory: 'it is in the process of the check',
} as const;

/** A variable with a key in it. */
export interface HeldKey {
  readonly variable: string;
  /** The name of the key, as `knownSecrets` has it. */
  readonly key: string;
}

export interface KeyLook {
  readonly held: readonly HeldKey[];
  /** Part that could not be examined, with the reason, a sentence without its full stop; undefined if everything was. */
  readonly gap: string | undefined;
}

/** Reason why keys cannot be looked for, a sentence without its full stop; undefined if they can. */
export function reasonNotToLook({ kind }: EnvironmentTarget, keys: readonly Secret[]): string | undefined {
  if (kind === 'url' || kind === 'memory') return NO_CHILD[kind];
  if (process.platform !== 'linux') return 'this system does not tell the variables of another process';
  return keys.length > 0
    ? undefined
    : 'no key of a gateway, a trainer or the service is known that could be looked for';
}

/** Looks for the operator's keys in the variables of an environment's processes. */
export class KeyWatch {
  /** Variables for starting the environment, once. */
  readonly variables: Readonly<Record<string, string>>;
  readonly #keys: readonly Secret[];
  readonly #probe: Probe;
  readonly #isModule: boolean;
  readonly #folder: string;

  /** @param folder empty, and only for this watch. The caller must remove it. */
  constructor(target: EnvironmentTarget, keys: readonly Secret[], folder: string) {
    this.#keys = keys;
    this.#folder = folder;
    this.#isModule = target.kind === 'module';
    this.#probe = new Probe(folder, target.kind === 'module' ? target.env : undefined);
    this.variables = this.#isModule ? this.#probe.variables : { CHECK_PROBE_FOLDER: folder };
  }

  /** Looks for keys in the current variables. @throws the signal's reason. */
  async look(signal?: AbortSignal): Promise<KeyLook> {
    const pids = withDescendants(findMarked(basename(this.#folder)));
    const texts = pids.map(startVariables).filter((text) => text !== '');
    const started = texts.map((text) => toVariableDigests(parseVariables(text), this.#folder));
    const { pid } = this.#probe;
    const report = this.#isModule && pid !== undefined ? await this.#probe.ask(pid, signal) : undefined;
    const held = [...started, ...(report === undefined ? [] : [report.variables])].flatMap((each) => this.#find(each));
    return { held: unique(held), gap: this.#gapOf(texts.length, report !== undefined) };
  }

  #gapOf(processes: number, hasAnswered: boolean): string | undefined {
    if (processes === 0) return 'no process of it shows its variables';
    if (this.#isModule)
      return hasAnswered ? undefined : 'its process was too busy to tell the variables that it sets itself';
    return 'it is a command, whose variables are seen as it was started with them, and not as it sets them';
  }

  #find(variables: VariableDigests): readonly HeldKey[] {
    return this.#keys.flatMap(({ name: key, value }) => {
      const digests = [value.trim(), encodeURIComponent(value.trim())].map((text) => toDigest(text, this.#folder));
      const names = Object.keys(variables).filter((name) => digests.some((each) => variables[name]?.includes(each)));
      return names.map((variable) => ({ variable, key }));
    });
  }
}

/** A sentence about found keys, with the names of the variables and without values. */
export function describeHeld(held: readonly HeldKey[]): string {
  const listed = held.map(({ variable, key }) => `${variable} (${key})`).join(', ');
  return `A process of it holds keys that are not the environment's in its variables: ${listed}. A model drives it, and a tool may give them away.`;
}

/** Adds descendants, which may have been started with other variables. */
function withDescendants(roots: readonly number[]): readonly number[] {
  const rows = readProcesses();
  const found = new Set(roots);
  for (let size = -1; size !== found.size; ) {
    size = found.size;
    for (const { pid, parent } of rows) if (found.has(parent)) found.add(pid);
  }
  return [...found];
}

function parseVariables(text: string): Readonly<Record<string, string>> {
  const pairs = text.split('\0').filter((pair) => pair.includes('='));
  return Object.fromEntries(pairs.map((pair) => [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)]));
}

function unique(held: readonly HeldKey[]): readonly HeldKey[] {
  return [...new Map(held.map((each) => [JSON.stringify(each), each])).values()].sort((a, b) =>
    a.variable < b.variable ? -1 : 1,
  );
}
