import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { z } from 'zod';
import { evaluationDetailSchema } from '../../../src/contract/service/evaluation.ts';
import type { TaskInput } from '../../../src/contract/task.ts';
import { openParts } from '../../service/runs/service.ts';
import { type CommandOptions, createProject, type Ended, proctor } from '../command.ts';

/** A test of many commands, each a process: on a machine with ten times too much to do each takes 15 seconds. */
export const MANY_COMMANDS = { timeout: 400_000 } as const;

/** A working directory with these environments and a file of tasks, until the test ends. */
export function projectWith(
  tasks: readonly TaskInput[],
  ...environments: Parameters<typeof createProject>
): CommandOptions & { readonly file: string } {
  const cwd = createProject(...environments);
  writeTasks(cwd, 'tasks.jsonl', tasks);
  return { cwd, file: 'tasks.jsonl' };
}

export function writeTasks(cwd: string, file: string, tasks: readonly TaskInput[]): void {
  writeFileSync(join(cwd, file), tasks.map((task) => `${JSON.stringify(task)}\n`).join(''));
}

/** Counting to these targets: proctor/oracle always passes, proctor/noop where the target is 0. */
export function counting(...targets: readonly number[]): readonly TaskInput[] {
  return targets.map((target, index) => ({
    id: `t${index + 1}`,
    env: 'counter',
    scenario: 'count_to',
    args: { target },
  }));
}

/** Runs `proctor eval` with these arguments to its end. */
export function evaluate(args: readonly string[], options: CommandOptions): Promise<Ended> {
  return proctor(['eval', ...args], options);
}

/** What `--json` printed. */
export function detailOf({ stdout }: Ended) {
  return evaluationDetailSchema.parse(JSON.parse(stdout));
}

/** Of the gate. */
export const gateSchema = z.object({
  evaluation_id: z.string(),
  baseline_id: z.string().nullable(),
  code: z.int(),
  passed: z.boolean(),
  checks: z.array(z.object({ model: z.string().nullable(), check: z.string(), code: z.int(), sentence: z.string() })),
  warnings: z.array(z.string()),
  comparisons: z.array(z.looseObject({ won_count: z.int(), lost_count: z.int() })),
});

/** The database of a project that a command has worked in. */
export async function partsOf(cwd: string) {
  return openParts(`sqlite:${join(cwd, '.proctor', 'proctor.db')}`, onTestFinished);
}

/** The traces of an evaluation, as `task/model/attempt` with what became of each. */
export async function tracesOf(cwd: string) {
  const { database } = await partsOf(cwd);
  const rows = await database.kysely
    .selectFrom('traces')
    .select(['trace_id', 'evaluation_id', 'task_id', 'model', 'attempt_index', 'status', 'is_superseded', 'attempt'])
    .execute();
  return rows.map((row) => ({ ...row, key: `${row.evaluation_id}/${row.task_id}/${row.model}/${row.attempt_index}` }));
}
