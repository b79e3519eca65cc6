import { preview } from '../../support/schema/json-schema.ts';
import type { EnvironmentDefinition } from './definition.ts';
import { checkText } from './presentation.ts';

export interface EnvironmentServerOptions {
  /** The name that the MCP handshake announces. It is also the first part of the full names of the scenarios. */
  readonly name: string;
  /** The version that the MCP handshake announces. Default `0.0.0`. */
  readonly version?: string;
  /** Instructions that the server sends to its clients. Default: none. */
  readonly instructions?: string;
  /**
   * Number of sessions that may share one process, if Proctor starts the processes. Default 1: each session has its own
   * process. With more, keep state in fields, because everything else in the process is shared.
   */
  readonly sessionsPerProcess?: number;
  /**
   * True if the tools are meant to act on the machine itself, with all that the process may read. Operators see this
   * mark, and `proctor check` reports a warning instead of an error. Default false.
   */
  readonly unsandboxed?: boolean;
  /** All other options are passed to the MCP server underneath. */
  readonly [option: string]: unknown;
}

/** The options of an environment, defaults filled in. */
export type CheckedOptions = Pick<
  EnvironmentDefinition,
  'name' | 'version' | 'instructions' | 'sessionsPerProcess' | 'unsandboxed' | 'serverOptions'
>;

/** @throws TypeError if the name is missing, and for an option of the wrong type. */
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
