import type { EventBody } from '../../../contract/service/event.ts';
import type { Trace } from '../../../contract/service/trace.ts';
import type { RecordedVerdicts } from '../../../rollout/session/judge/recorded-verdicts.ts';
import type { RunScript, ScriptedTurn } from '../../../rollout/session/run-script.ts';
import type { FinishOptions } from '../../../rollout/session/session-end.ts';
import type { Redactor } from '../../../support/redaction/redactor.ts';
import { isPlayedByAgent } from '../recorded-runs.ts';
import { Comparison } from './comparison.ts';
import { type RecordedTrace, toWords } from './recorded-trace.ts';
import { type RepeatedTurn, ReplayAgent, toRecordedError } from './replay-agent.ts';

/** A run that repeats a trace, with what its events become on their way to the store. */
export interface ReplayPlan extends RunScript {
  /** @returns the event that is recorded. */
  amend(event: EventBody): EventBody;
}

/** The run that repeats all of a trace, compares it, and says so at its end. */
export function createReplayScript(
  recorded: RecordedTrace,
  { redactor, verdicts }: { readonly redactor: Redactor; readonly verdicts?: RecordedVerdicts | undefined },
): ReplayPlan {
  const { trace } = recorded;
  const comparison = new Comparison(trace, redactor);
  const turns = recorded.turns.map(toRepeated);
  return {
    turns: turns.map(toScripted),
    seed: trace.seed,
    // At a seat the user is in the results of calls.
    words: isPlayedByAgent(trace) ? undefined : toWords(trace, turns),
    verdicts,
    createAgent: () =>
      new ReplayAgent({
        turns,
        error: trace.error,
        onResult(result, place, event) {
          comparison.sawResult(result, place, event);
          return event;
        },
      }),
    finish: toFinish(trace),
    amend(event) {
      comparison.saw(event);
      // One that somebody has cancelled says nothing about its trace.
      if (event.type !== 'run.finished' || event.status === 'cancelled') return event;
      return { ...event, replay: comparison.toResult(event) };
    },
  };
}

export function toRepeated(turn: RecordedTrace['turns'][number]): RepeatedTurn {
  return { ...turn, cut: new AbortController() };
}

export function toScripted({ messages, cut, reply }: RepeatedTurn): ScriptedTurn {
  return { messages, cut: cut.signal, hasReply: reply !== undefined };
}

/** The end of the trace. If only its evaluation failed, the replay evaluates again. */
function toFinish({ stop_reason, error, answer, outcome }: Trace): FinishOptions {
  const isFailed = error !== null && error.boundary !== 'evaluate';
  return {
    stopReason: stop_reason === null || (error !== null && !isFailed) ? 'answered' : stop_reason,
    error: isFailed ? toRecordedError(error) : null,
    ...(answer === null ? {} : { answer, fits: outcome !== 'agent_error' }),
  };
}
