import type { PromptMessage } from '../../contract/scenario.ts';
import type { ChatModel } from '../../models/gateway/chat-model.ts';
import type { Agent } from './agent.ts';
import type { RecordedVerdicts } from './judge/recorded-verdicts.ts';
import type { FinishOptions } from './session-end.ts';
import type { RecordedWords } from './user/recorded-user.ts';

/** A run that repeats another one, in full or in part: its turns, and the agent that plays them. */
export interface RunScript {
  /** Turns in order, at least one. A turn that fails although its recording did not is the last. */
  readonly turns: readonly ScriptedTurn[];
  /** Seed of the environment. */
  readonly seed: number | null;
  /**
   * Makes the agent. @param createModel makes the run's model, for a script that goes on with it. @throws
   * BoundaryError.
   */
  createAgent(createModel: () => ChatModel): Agent;
  /** End of the run after its turns; undefined if the run continues after the last one. */
  readonly finish?: FinishOptions | undefined;
  /** Replies of the simulated user; undefined if the run had none, because a caller or an agent talked with it. */
  readonly words?: RecordedWords | undefined;
  /** Recorded verdicts. Without them, judges are asked. */
  readonly verdicts?: RecordedVerdicts | undefined;
}

export interface ScriptedTurn {
  /** Messages of the caller; empty in a run. */
  readonly messages: readonly PromptMessage[];
  /** Aborted by the agent at the end of a turn that was cut off. The run goes on after it. */
  readonly cut: AbortSignal;
  /** True if a simulated user replied to the text that ended the turn. */
  readonly hasReply: boolean;
}
