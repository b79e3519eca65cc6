import { isDeepStrictEqual } from 'node:util';
import type { ProcessLimits, ProcessResult } from '../sandbox/run-process.ts';
import type { Places, Sandbox } from '../sandbox/sandbox.ts';
import type { SessionDirectory } from '../session-directory.ts';
import type { HiddenTest, Step } from './hidden-test.ts';

const CONCURRENCY = 2;
const READY = 'ready\n';

export interface GradingOptions {
  readonly sandbox: Sandbox;
  readonly directory: SessionDirectory;
  /** The agent's module, from the work directory. */
  readonly module: string;
  readonly tests: readonly HiddenTest[];
  /** Of each test. */
  readonly limits: ProcessLimits;
  /** Of all tests together: those that have not begun by then have failed. */
  readonly timeMs: number;
  readonly signal: AbortSignal;
}

export interface TestOutcome {
  readonly test: HiddenTest;
  readonly passed: boolean;
}

/**
 * Runs each hidden test in a process and a sandbox of its own, on the agent's work as it is, which cannot be written
 * there. The process gets the inputs of its one test and gives what came of them; what is expected never leaves this
 * process, so that a false result is worth no more than a wrong one.
 *
 * @throws Error when the sandbox fails, which is not the agent's doing; the reason of the signal when that is aborted.
 */
export async function grade(options: GradingOptions): Promise<readonly TestOutcome[]> {
  await options.directory.reopen();
  const deadline = performance.now() + options.timeMs;
  const outcomes: TestOutcome[] = [];
  const waiting = [...options.tests.entries()];
  const work = async () => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const [index, test] = next;
      const hasTime = performance.now() < deadline;
      outcomes[index] = { test, passed: hasTime && (await passes(test, options)) };
    }
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, work));
  return outcomes;
}

async function passes(test: HiddenTest, options: GradingOptions): Promise<boolean> {
  const { sandbox, directory, module, limits, signal } = options;
  const command = ({ node, driver }: Places) => [node, driver];
  const inputs = test.steps.map(toInput);
  const result = await sandbox.run({
    directory,
    isReadOnly: true,
    command,
    input: JSON.stringify({ module, steps: inputs }),
    hasResult: true,
    limits,
    signal,
  });
  if (!result.result.startsWith(READY)) throw new Error(describeFailure(result));
  return isDeepStrictEqual(parse(result.result.slice(READY.length)), test.steps.map(toObservation));
}

function toInput(step: Step) {
  if ('call' in step) return { call: step.call, args: step.args };
  if ('construct' in step) return { construct: step.construct, args: step.args };
  if ('method' in step) return { method: step.method, args: step.args };
  return { property: step.property, args: step.args };
}

function toObservation(step: Step) {
  return 'throws' in step ? { throws: step.throws } : { value: step.gives, args: step.args };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function describeFailure({ ending, exitCode, signal, output }: ProcessResult): string {
  return `A hidden test could not be started in the sandbox (${ending}, ${signal ?? exitCode}): ${output}`;
}
