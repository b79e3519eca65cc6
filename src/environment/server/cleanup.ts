import { endsWithin } from '../../support/runtime/deadline.ts';
import { describeFailure } from './describe-thrown.ts';

export interface CleanupStep {
  /** Name for the log, such as `the close hook`. */
  readonly name: string;
  run(): unknown;
}

/** Receives an error that no caller gets, as one or several lines. */
export type Report = (text: string) => void;

/**
 * Runs every step, one after another, even if earlier steps fail. Errors are reported. A step that hangs is abandoned
 * after its share of the remaining time, so that every step starts. Never rejects.
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

/** The default report. It writes to standard error, because standard output may carry the protocol. */
export function reportToStderr(text: string): void {
  process.stderr.write(`proctor: ${text}\n`);
}
