import type { PromptMessage } from '../contract/scenario.ts';
import type { ChatModel } from '../model/chat-model.ts';
import type { Agent } from './agent.ts';
import type { RecordedWords } from './recorded-user.ts';
import type { RecordedVerdicts } from './recorded-verdicts.ts';
import type { FinishOptions } from './session-end.ts';

/** A run that repeats another one, wholly or in part: its turns, and the agent that plays them. */
export interface RunScript {
  /** One or more, in order. One that fails where it is not meant to is the last. */
  readonly turns: readonly ScriptedTurn[];
  /** Seed of the environment. */
  readonly seed: number | null;
  /** @param createModel makes the run's model, for a script that goes on with it. @throws BoundaryError. */
  createAgent(createModel: () => ChatModel): Agent;
  /** How the run ends once its turns are over; undefined: as a run does that goes on after the last one. */
  readonly finish?: FinishOptions | undefined;
  /** Replies of the simulated user; undefined where the run played none: a caller or an agent talked with it. */
  readonly words?: RecordedWords | undefined;
  /** Verdicts of judges. Default: none, so that they are asked. */
  readonly verdicts?: RecordedVerdicts | undefined;
}

export interface ScriptedTurn {
  /** Those of the caller; a run has none. */
  readonly messages: readonly PromptMessage[];
  /** Aborted by the agent, for a turn that was cut off: its end is no end of the run. */
  readonly cut: AbortSignal;
  /** A simulated user has replied to the text that ended it. */
  readonly hasReply: boolean;
}
