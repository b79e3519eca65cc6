import type { TraceEvent } from '../contract/event.ts';
import type { Trace } from '../contract/trace.ts';
import { createConversationView } from './conversation-view.ts';
import { SilentFailure } from './failure.ts';
import { howToOpen } from './how-to-open.ts';
import { planHere } from './run-here.ts';
import { describeOutcome } from './run-view.ts';
import { listenForStop } from './signals.ts';
import { colors, note, print, printJson } from './terminal.ts';

export interface WatchOptions {
  readonly arg?: readonly string[];
  readonly args?: string;
  readonly model: string;
  readonly userModel?: string;
  readonly judgeModel?: string;
  /** Model responses of the whole conversation. */
  readonly maxSteps?: number;
  readonly json?: boolean;
}

/**
 * Plays one run whose user is simulated, and shows the conversation as it goes on.
 *
 * @throws SilentFailure where it has no reward; UsageError and ApiError for a command that is wrong, before anything runs.
 */
export async function watchUser(
  environment: string,
  scenario: string | undefined,
  { json: isJson = false, ...options }: WatchOptions,
): Promise<void> {
  await using plan = await planHere(environment, scenario, { ...options, runs: 1, command: 'chat --user' });
  using stop = listenForStop(() => note(colors.yellow('Stopping: the conversation is cancelled.')));
  const [request] = plan.requests;
  if (request === undefined || stop.signal.aborted) throw new SilentFailure();
  const show = isJson ? () => {} : createConversationView();
  let hasUser = false;
  const follow = (events: readonly TraceEvent[]) => {
    hasUser ||= events.some(({ type }) => type === 'user.responded');
    show(events);
  };
  const trace = await plan.play(request, follow, stop.signal);
  report(trace, isJson);
  if (!hasUser && trace.status === 'completed') {
    note(colors.yellow(`Nobody talked with the model: the scenario ${trace.scenario_name} has no simulated user.`));
  }
  if (!isJson && plan.appUrl !== undefined) note(colors.dim(await howToOpen([trace.trace_id], plan.appUrl)));
  if (trace.reward === null) throw new SilentFailure();
}

function report(trace: Trace, isJson: boolean): void {
  const { trace_id, trace_url, status, stop_reason, reward, answer, error } = trace;
  if (isJson) {
    printJson({
      trace_id,
      trace_url,
      status,
      stop_reason,
      reward,
      answer,
      replies: trace.turns.filter(({ user }) => user !== undefined).length,
      message: error?.message ?? null,
    });
    return;
  }
  note(`${describeOutcome(trace)}  ${colors.dim(trace_url)}`);
  print(reward === null ? 'no reward' : `reward ${reward}`);
}
