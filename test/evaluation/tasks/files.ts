import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { onTestFinished } from 'vitest';
import { ApiError } from '../../../src/contract/errors.ts';
import type { Task } from '../../../src/contract/task.ts';

/** A directory with these files, until the test ends. */
export function directoryWith(files: Readonly<Record<string, string | Uint8Array>> = {}): string {
  const directory = mkdtempSync(join(tmpdir(), 'proctor-tasks-'));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(directory, name)), { recursive: true });
    writeFileSync(join(directory, name), content);
  }
  return directory;
}

/** A line of a taskset file. */
export function line(id: string, others: object = {}): string {
  return JSON.stringify({ id, env: 'counter', scenario: 'count_to', args: { target: 3 }, ...others });
}

/** A task with its defaults. */
export function task(id: string, others: Partial<Task> = {}): Task {
  const given = {
    id,
    env: 'counter',
    scenario: 'count_to',
    args: { target: 3 },
    split: null,
    tags: [],
    held_out: false,
  };
  return { ...given, cluster: id, ...others };
}

/** What something was refused with, which has to be an `ApiError`. */
export async function refusalOf(promise: Promise<unknown>): Promise<ApiError> {
  const error = await promise.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (error instanceof ApiError) return error;
  throw new Error(`It was not refused: ${String(error)}`, { cause: error });
}
