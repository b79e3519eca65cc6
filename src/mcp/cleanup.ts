import { endsWithin } from '../runtime/deadline.ts';
import { describeFailure } from './describe-thrown.ts';

export interface CleanupStep {
  /** Name for the log, such as `the close hook`. */
  readonly name: string;
  run(): unknown;
}

/** Takes one thing that went wrong and reaches no caller, as a line or several. */
export type Report = (text: string) => void;

/**
 * Runs every step, one after another, whatever becomes of those before it: a step that throws is reported, one that
 * hangs is left behind after its share of what remains of the budget, so that the last one starts too. Never rejects.
 */
export async function runCleanup(steps: readonly CleanupStep[], budgetMs: number, report: Report): Promise<void> {
  const deadline = Date.now() + budgetMs;
  for (const [index, step] of steps.entries()) {
    const shareMs = Math.max(0, deadline - Date.now()) / (steps.length - index);
    const isDone = await runWithin(step, shareMs, report);
    if (!isDone) report(`${step.name} did not end within ${Math.round(shareMs)} ms and was left behind`);
  }
}

async function runWithin(step: CleanupStep, limitMs: number, report: Report): Promise<boolean> {
  const run = async () => {
    try {
      await step.run();
    } catch (error) {
      report(describeFailure(step.name, error));
    }
  };
  return await endsWithin(run(), limitMs);
}

/** The default report: standard error, which is nobody's protocol. */
export function reportToStderr(text: string): void {
  process.stderr.write(`proctor: ${text}\n`);
}
