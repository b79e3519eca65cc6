import { closeSync, fstatSync, readFileSync } from 'node:fs';
import { isatty } from 'node:tty';
import { messageOf } from '../../contract/errors.ts';
import { PROCESS_VARIABLES } from '../../contract/names.ts';

/**
 * Finds the harness key. First comes the file descriptor that `PROCTOR_HARNESS_KEY_FD` names, which only the parent
 * process controls; it is read once and closed. Then comes the option, then `PROCTOR_HARNESS_KEY`. Both variables are
 * deleted from `variables`, so that child processes of the environment do not inherit them.
 *
 * @throws Error for a descriptor that cannot be read or is not a pipe, socket or file, and for an empty key.
 */
export function takeHarnessKey(
  option: string | undefined,
  variables: Record<string, string | undefined> = process.env,
): string | undefined {
  const named = variables[PROCESS_VARIABLES.harnessKeyFd];
  const variable = variables[PROCESS_VARIABLES.harnessKey];
  delete variables[PROCESS_VARIABLES.harnessKeyFd];
  delete variables[PROCESS_VARIABLES.harnessKey];
  const fromDescriptor = named === undefined ? undefined : readDescriptor(named);
  return (
    checked(fromDescriptor, `descriptor ${named}, which ${PROCESS_VARIABLES.harnessKeyFd} names,`) ??
    checked(option, 'the harnessKey option') ??
    checked(variable?.trim(), PROCESS_VARIABLES.harnessKey)
  );
}

/**
 * Takes the settings of sandboxes out of the variables, so that programs of the environment do not see them. For a
 * process that serves one environment and nothing else.
 */
export function takeSandboxVariable(variables: Record<string, string | undefined> = process.env): string {
  const settings = variables[PROCESS_VARIABLES.sandbox] ?? '';
  delete variables[PROCESS_VARIABLES.sandbox];
  return settings;
}

export interface Descriptor {
  readonly fd: number;
  readonly kind: 'pipe' | 'file' | 'terminal';
}

/**
 * Parses the number of an inherited file descriptor and checks its type. This happens first, because another descriptor
 * of this process (such as a poll handle of Node.js) must be neither read nor closed.
 *
 * @throws Error that names the variable and the problem with its value.
 */
export function parseDescriptor(name: string, value: string): Descriptor {
  const fd = Number(value);
  if (!/^\d+$/.test(value) || fd < 3 || !Number.isSafeInteger(fd)) {
    throw new Error(`${name} has to be the number of an inherited descriptor from 3 on, got ${JSON.stringify(value)}`);
  }
  let stat: ReturnType<typeof fstatSync>;
  try {
    stat = fstatSync(fd);
  } catch (cause) {
    throw new Error(`${name} names descriptor ${fd}, which is not open: ${messageOf(cause)}`, { cause });
  }
  if (stat.isFIFO() || stat.isSocket()) return { fd, kind: 'pipe' };
  if (stat.isFile()) return { fd, kind: 'file' };
  if (isatty(fd)) return { fd, kind: 'terminal' };
  throw new Error(`${name} names descriptor ${fd}, which is not a pipe, a socket or a file`);
}

function readDescriptor(value: string): string {
  const name = PROCESS_VARIABLES.harnessKeyFd;
  const { fd, kind } = parseDescriptor(name, value);
  if (kind === 'terminal') throw new Error(`${name} names descriptor ${fd}, which is not a pipe, a socket or a file`);
  try {
    return readFileSync(fd, 'utf8').trim();
  } catch (cause) {
    throw new Error(`The harness key cannot be read from descriptor ${fd}: ${messageOf(cause)}`, { cause });
  } finally {
    closeSync(fd);
  }
}

function checked(key: string | undefined, source: string): string | undefined {
  if (key === '') throw new Error(`The harness key of ${source} is empty: give a random one, or none at all`);
  return key;
}
