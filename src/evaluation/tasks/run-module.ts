import { dirname, sep } from 'node:path';
import { z } from 'zod';
import { toChildVariables } from '../../environment/process/child-variables.ts';
import { CHANNEL_FD, EnvironmentProcess } from '../../environment/process/environment-process.ts';
import { builtFile } from '../../support/runtime/built-file.ts';
import { withDeadline } from '../../support/runtime/deadline.ts';
import { refuseFile } from './open-file.ts';

/** For all of it: the start of a process, and what the module does. */
const RUN_TIMEOUT_MS = 60_000;
const MEMORY_MIB = 2_048;

/** A task as JSON has carried it, or why JSON cannot hold it; then a line that says why there are no tasks. */
const lineSchema = z.union([
  z.object({ problem: z.string().nullable() }),
  z.object({ fault: z.string() }),
  z.object({ task: z.unknown() }),
]);

export interface ModuleReader {
  task(index: number, value: unknown): void;
  fault(index: number, sentence: string): void;
}

/**
 * Runs a taskset module and gives its tasks. It has a process of its own, without the secrets of this one: it is read anew
 * each time, with whatever it imports, and cannot end or block the process that asks.
 *
 * @param path absolute.
 * @throws ApiError where it fails, ends early or takes more than a minute; the reason of the signal.
 */
export async function runModule(
  path: string,
  label: string,
  reader: ModuleReader,
  signal?: AbortSignal,
): Promise<void> {
  let index = 0;
  let ending: { readonly problem: string | null } | undefined;
  let failure: unknown;
  const child = new EnvironmentProcess({
    command: process.execPath,
    args: [builtFile('evaluation/tasks/taskset-module-main.js'), path, String(CHANNEL_FD)],
    variables: toChildVariables(process.env),
    withheld: { own: process.env, remedy: () => 'read it from a file: a taskset module gets no others' },
    hasOwnDescriptors: true,
    harnessKey: undefined,
    folders: [dirname(path)],
    onLog: undefined,
    memoryMiB: MEMORY_MIB,
    onChannelLine: (text) => {
      try {
        const line = lineSchema.parse(JSON.parse(text));
        if ('problem' in line) ending = line;
        else if ('fault' in line) reader.fault(index++, `It is nothing that JSON can hold: ${line.fault}.`);
        else reader.task(index++, line.task);
      } catch (error) {
        failure ??= error;
      }
    },
  });
  const ended = new Promise<void>((resolve) => {
    child.onclose = resolve;
  });
  const toError = (limit: string) => refuseFile(label, `It gave no tasks within ${limit}.`);
  try {
    await withDeadline(() => child.start().then(() => ended), { ms: RUN_TIMEOUT_MS, signal, toError });
  } finally {
    await child.close();
  }
  if (failure !== undefined) throw failure;
  if (ending === undefined) throw refuseFile(label, `Its process ${child.ending ?? 'has ended'}.`);
  if (ending.problem !== null) throw refuseFile(label, withoutFolders(ending.problem, path, label));
}

/** Its errors name the file by its path, and the place in it. */
function withoutFolders(problem: string, path: string, label: string): string {
  const words = problem.replaceAll(path, label).replaceAll(`${dirname(path)}${sep}`, '');
  if (!words.startsWith(`${label}:`)) return words;
  const [, line, column, rest] = /^:(\d+):(\d+): (.*)$/s.exec(words.slice(label.length)) ?? [];
  return line === undefined ? words.slice(label.length + 1).trimStart() : `It fails at ${line}:${column}: ${rest}`;
}
