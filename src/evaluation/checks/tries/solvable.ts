import type { Trace } from '../../../contract/service/trace.ts';
import { preview } from '../../../support/schema/json-schema.ts';
import type { CheckTask, Finding } from '../finding.ts';
import { shown } from '../player/passes.ts';
import type { PlayedSession } from '../player/play.ts';
import type { SessionPlayer } from '../player/session-player.ts';

/** The run of a solution and its faults. A missing solution or judge is reported once for each scenario. */
export interface Solved {
  readonly played: PlayedSession;
  readonly state: 'solved' | 'unsolved' | 'no solution' | 'not set up' | 'not judged';
  readonly found: readonly Finding[];
}

/** Matches the client's message about a missing solution. */
const NO_SOLUTION = /has no solution/;
/** Matches the message of a check whose evaluation needs a model. */
const NO_JUDGE = /models\.judge/;

/** Judges the run of a solution: it has to pass, and no call may fail or be refused. */
export function judgeSolution(bench: SessionPlayer, task: CheckTask, played: PlayedSession): Solved {
  const { trace } = played;
  const reproduce = bench.runCommand(task, 'proctor/oracle');
  const toFound = (finding: 'solvable' | 'start', message: string): Finding => ({
    finding,
    level: 'error',
    task,
    message,
    reproduce,
    played,
  });
  if (!isSetUp(played)) {
    const why = trace.error?.message ?? 'its session ended';
    return { played, state: 'not set up', found: [toFound('start', `It cannot be set up: ${why}`)] };
  }
  if (trace.error !== null && NO_SOLUTION.test(trace.error.message)) {
    const message = 'It has no solution: whether it can be solved, and whether its grader is strong, is not known.';
    return { played, state: 'no solution', found: [{ ...toFound('solvable', message), level: 'warning' }] };
  }
  if (trace.error?.boundary === 'evaluate' && NO_JUDGE.test(trace.error.message)) {
    const message =
      'Its evaluation asks a model by ctx.sample, and a check asks none: ask by ctx.judge, for which a check has a fixed verdict.';
    return { played, state: 'not judged', found: [{ ...toFound('solvable', message), level: 'warning' }] };
  }
  const problem = problemOf(trace, bench.threshold);
  if (problem === undefined) return { played, state: 'solved', found: [] };
  return { played, state: 'unsolved', found: [toFound('solvable', problem)] };
}

function isSetUp({ log }: PlayedSession): boolean {
  return log.events.some(({ type }) => type === 'setup.completed');
}

function problemOf(trace: Trace, threshold: number): string | undefined {
  const { error, reward, evaluation } = trace;
  if (error !== null) return `Its solution cannot be played: ${error.message}`;
  if (reward === null) return `Its solution got no reward: it ended as ${trace.stop_reason ?? trace.status}.`;
  const failed = trace.steps.flatMap(({ tool_results }) => tool_results).find(({ is_error }) => is_error);
  if (failed !== undefined) return `A call of its solution fails: ${failed.name}(${preview(failed.arguments)}).`;
  if (reward >= threshold) return undefined;
  const told = evaluation?.content == null ? '' : ` The grader says: ${evaluation.content}`;
  return `Its solution gets ${shown(reward)}, and ${threshold} passes.${told}`;
}
