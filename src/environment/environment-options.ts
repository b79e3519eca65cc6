import { preview } from '../schema/json-schema.ts';
import { checkText } from './presentation.ts';

export interface EnvironmentServerOptions {
  /** Announced in the MCP handshake; the first part of the full names of its scenarios. */
  readonly name: string;
  /** `0.0.0` by default. */
  readonly version?: string;
  /** Instructions that the server gives its clients; none by default. */
  readonly instructions?: string;
  /**
   * Sessions that may share one process, where Proctor starts the processes; 1 by default, a process for each. With more,
   * state belongs in fields, since everything else of the process is shared.
   */
  readonly sessionsPerProcess?: number;
  /**
   * True: its tools reach the machine itself, with all that the process may read, and that is meant so. Operators are
   * shown it, and `proctor check` warns where it would report an error. False by default.
   */
  readonly unsandboxed?: boolean;
  /** Every other option goes to the MCP server underneath. */
  readonly [option: string]: unknown;
}

/** The options of an environment, defaults filled in. */
export interface CheckedOptions {
  readonly name: string;
  readonly version: string;
  readonly instructions: string | undefined;
  readonly sessionsPerProcess: number;
  readonly unsandboxed: boolean;
  readonly serverOptions: Readonly<Record<string, unknown>>;
}

/** @throws TypeError without a name, and for an option of the wrong type. */
export function checkOptions(options: EnvironmentServerOptions): CheckedOptions {
  const {
    name,
    version = '0.0.0',
    instructions,
    sessionsPerProcess = 1,
    unsandboxed = false,
    ...serverOptions
  } = options ?? {};
  if (typeof name !== 'string' || name.trim() === '') {
    throw new TypeError(
      `An environment needs a name: new EnvironmentServer({ name: "counter" }), got ${JSON.stringify(name)}`,
    );
  }
  const label = `Environment "${name}"`;
  checkText(label, 'version', version);
  checkText(label, 'instructions', instructions);
  if (!Number.isSafeInteger(sessionsPerProcess) || sessionsPerProcess < 1) {
    const found = preview(sessionsPerProcess);
    throw new TypeError(`${label}: sessionsPerProcess has to be a whole number from 1 on, got ${found}`);
  }
  if (typeof unsandboxed !== 'boolean') {
    throw new TypeError(`${label}: unsandboxed has to be true or false, got ${preview(unsandboxed)}`);
  }
  return { name, version, instructions, sessionsPerProcess, unsandboxed, serverOptions };
}
