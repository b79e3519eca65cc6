/**
 * The program of the process that runs a taskset module: `node taskset-module-main.js <path>`. It writes each task as a
 * line of JSON to the channel that its parent has opened, and a last line that says how it went.
 */
import { Socket } from 'node:net';
import { messageOf } from '../../contract/errors.ts';
import { EVALUATION_LIMITS } from '../../contract/task.ts';
import { loadEnvironmentModule } from '../../environment/server/load-module.ts';
import { preview } from '../../support/schema/json-schema.ts';

const [, , path = '', descriptor = ''] = process.argv;
const channel = new Socket({ fd: Number(descriptor), readable: true, writable: true });
channel.on('error', () => process.exit(1));

const problem = await run().catch(reasonOf);
// A timer that the module has left running ends with it.
channel.write(`${JSON.stringify({ problem })}\n`, () => process.exit(0));

/** @returns why there are no tasks; null where all of them were sent. */
async function run(): Promise<string | null> {
  const exported = await loadEnvironmentModule(path);
  const tasks: unknown = typeof exported === 'function' ? await exported() : exported;
  if (!Array.isArray(tasks)) {
    return `Its default export has to be a list of tasks, or a function that gives one, got ${preview(tasks)}. Write "export default defineTasks([...])".`;
  }
  if (tasks.length > EVALUATION_LIMITS.tasks) {
    return `It has ${tasks.length} tasks; a taskset has at most ${EVALUATION_LIMITS.tasks}.`;
  }
  for (const task of tasks) await send(toLine(task));
  return null;
}

/** A value as JSON carries it. One that JSON cannot hold is a problem of this task alone. */
function toLine(task: unknown): string {
  try {
    return `{"task":${JSON.stringify(task) ?? 'null'}}`;
  } catch (error) {
    return JSON.stringify({ fault: messageOf(error).split('\n')[0] });
  }
}

async function send(line: string): Promise<void> {
  const isFull = !channel.write(`${line}\n`);
  if (isFull) await new Promise((resolve) => channel.once('drain', resolve));
}

function reasonOf(error: unknown): string {
  const cause = error instanceof Error ? error.cause : undefined;
  const isCommonJs = cause instanceof Error && 'code' in cause && cause.code === 'ERR_REQUIRE_CYCLE_MODULE';
  if (!isCommonJs) return messageOf(error);
  return 'Its package.json does not say "type": "module"; say so there, or name the file .mts.';
}
