import type { TraceEvent } from '../../contract/service/event.ts';
import type { Trace } from '../../contract/service/trace.ts';
import { SilentFailure } from '../base/failure.ts';
import { howToOpen } from '../base/how-to-open.ts';
import { openPlace } from '../base/place.ts';
import { listenForStop } from '../base/signals.ts';
import { colors, note, print, printJson } from '../base/terminal.ts';
import { createConversationView } from './conversation-view.ts';
import { playRun } from './play-run.ts';
import { planRuns, toInput } from './run-plan.ts';
import { describeOutcome } from './run-view.ts';

export interface WatchOptions {
  readonly arg?: readonly string[];
  readonly args?: string;
  readonly model: string;
  readonly userModel?: string;
  readonly judgeModel?: string;
  /** Most model responses of the whole conversation. */
  readonly maxSteps?: number;
  readonly json?: boolean;
}

/**
 * Plays one run with a simulated user, and shows the conversation.
 *
 * @throws SilentFailure for a run without a reward; UsageError and ApiError for a wrong command, before a run starts.
 */
export async function watchUser(
  environment: string,
  scenario: string | undefined,
  { json: isJson = false, ...options }: WatchOptions,
): Promise<void> {
  await using place = await openPlace({ environment, plays: 'own' });
  const { client, here } = place;
  const [request] = await planRuns(
    { client, typed: environment, name: place.environment, scenario },
    { ...options, runs: 1, command: 'chat --user' },
  );
  using stop = listenForStop(() => note(colors.yellow('Stopping: the conversation is cancelled.')));
  if (request === undefined || stop.signal.aborted) throw new SilentFailure();
  const show = isJson ? () => {} : createConversationView();
  let hasUser = false;
  const follow = (events: readonly TraceEvent[]) => {
    hasUser ||= events.some(({ type }) => type === 'user.responded');
    show(events);
  };
  const trace = await playRun(client, () => client.runs.create(toInput(request)), follow, stop.signal);
  report(trace, isJson);
  if (!hasUser && trace.status === 'completed') {
    note(colors.yellow(`Nobody talked with the model: the scenario ${trace.scenario_name} has no simulated user.`));
  }
  if (!isJson && here !== undefined)
    note(colors.dim(await howToOpen([trace.trace_id], here.installation.settings.appUrl)));
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
