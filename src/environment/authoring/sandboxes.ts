import { preview } from '../../support/schema/json-schema.ts';
import { checkSandboxName, checkSandboxOptions, DEFAULT_WORKDIR, MAIN_SANDBOX } from '../sandbox/options.ts';
import type { Sandbox, SandboxFiles, SandboxOptions } from '../sandbox/sandbox.ts';
import type { AnyValue } from './schema/schema-types.ts';

/** Arguments of a scenario, as its schema has read them. */
export type SandboxArgs = Readonly<Record<string, AnyValue>>;

/** Options of a sandbox, or a function that gives them for the arguments of the scenario. */
export type SandboxSource = SandboxOptions | ((scenarioArgs: SandboxArgs) => SandboxOptions);

/** A sandbox that an author has declared. Each session makes one from it. */
export interface SandboxDeclaration {
  readonly name: string;
  /** The options if they do not depend on the arguments of a scenario. */
  readonly fixed: SandboxOptions | undefined;
  /** The options for a scenario. @throws any error of the author's function. */
  optionsFor(scenarioArgs: unknown): SandboxOptions;
  /** Connects the author's object with the sandbox of a session. @throws Error if another session has it. */
  bind(sandbox: Sandbox): void;
  /** Ends the connection with this sandbox. */
  release(sandbox: Sandbox): void;
}

/** A declaration, and the object that the author gets at once. */
export interface DeclaredSandbox {
  readonly declaration: SandboxDeclaration;
  readonly sandbox: Sandbox;
}

/** @throws TypeError for a bad name and for options of the wrong type. */
export function declareSandbox(first: string | SandboxSource = {}, second: SandboxSource = {}): DeclaredSandbox {
  const name = typeof first === 'string' ? checkSandboxName(first) : MAIN_SANDBOX;
  const source = typeof first === 'string' ? second : first;
  const isFunction = typeof source === 'function';
  const { workdir } = isFunction ? { workdir: DEFAULT_WORKDIR } : checkSandboxOptions(name, source);
  const sandbox = new DeclaredSandboxHandle(name, workdir);
  return {
    sandbox,
    declaration: {
      name,
      fixed: isFunction ? undefined : source,
      optionsFor: (args) => (isFunction ? source((args ?? {}) as SandboxArgs) : source),
      bind: (opened) => sandbox.bind(opened),
      release: (opened) => sandbox.release(opened),
    },
  };
}

/** Tools that an environment can add. `ToolSet` is the public name; the environment's own file cannot import that one. */
export interface ToolsFor<Environment> {
  readonly role?: string | undefined;
  addTo(env: Environment): void;
}

/** Adds tools. @throws Error for a second set of a role, because a model cannot choose between two; TypeError */
export function addToolSets<Environment>(
  env: Environment,
  sets: readonly ToolsFor<Environment>[],
  roles: Set<string>,
  label: string,
): void {
  for (const set of sets) {
    if (typeof set?.addTo !== 'function') throw new TypeError('use takes sets of tools: env.use(bash(sandbox))');
    const { role } = set;
    if (role !== undefined && roles.has(role)) {
      throw new Error(
        `${label} already uses tools for the role ${preview(role)}: a model cannot choose between two, so use one of them`,
      );
    }
    set.addTo(env);
    if (role !== undefined) roles.add(role);
  }
}

/** The sandbox of an environment's instance. It is open from the setup of a scenario to the end of its session. */
class DeclaredSandboxHandle implements Sandbox {
  readonly name: string;
  readonly #workdir: string;
  #opened: Sandbox | undefined;

  constructor(name: string, workdir: string) {
    this.name = name;
    this.#workdir = workdir;
  }

  get workdir(): string {
    return this.#opened?.workdir ?? this.#workdir;
  }

  get files(): SandboxFiles {
    // A getter that threw would break code that only passes the files on.
    return {
      read: async (...args) => this.#open.files.read(...args),
      write: async (...args) => this.#open.files.write(...args),
      list: async (...args) => this.#open.files.list(...args),
      stat: async (...args) => this.#open.files.stat(...args),
      remove: async (...args) => this.#open.files.remove(...args),
    };
  }

  get isFrozen(): boolean {
    return this.#opened?.isFrozen ?? false;
  }

  get notEnforced(): Sandbox['notEnforced'] {
    return this.#opened?.notEnforced ?? {};
  }

  readonly exec: Sandbox['exec'] = async (...args) => this.#open.exec(...args);
  readonly spawn: Sandbox['spawn'] = async (...args) => this.#open.spawn(...args);
  readonly copyIn: Sandbox['copyIn'] = async (...args) => this.#open.copyIn(...args);
  readonly copyOut: Sandbox['copyOut'] = async (...args) => this.#open.copyOut(...args);
  readonly fresh: Sandbox['fresh'] = async (...args) => this.#open.fresh(...args);
  readonly freeze: Sandbox['freeze'] = async () => this.#open.freeze();
  readonly changes: Sandbox['changes'] = async () => this.#open.changes();
  readonly expose: Sandbox['expose'] = async (port) => this.#open.expose(port);
  readonly memoryFault: Sandbox['memoryFault'] = async () => this.#open.memoryFault();
  /** A sandbox that is not open has nothing to stop. */
  readonly stop: Sandbox['stop'] = async () => this.#opened?.stop();

  bind(sandbox: Sandbox): void {
    if (this.#opened !== undefined) {
      throw new Error(
        `The sandbox "${this.name}" belongs to another session that is open: export the class of the environment or a factory, so that each session has its own instance`,
      );
    }
    this.#opened = sandbox;
  }

  release(sandbox: Sandbox): void {
    if (this.#opened === sandbox) this.#opened = undefined;
  }

  get #open(): Sandbox {
    if (this.#opened !== undefined) return this.#opened;
    throw new Error(
      `The sandbox "${this.name}" is not open: it is there from the setup of a scenario to the end of the session`,
    );
  }
}
