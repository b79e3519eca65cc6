import type { ContentBlock } from '../../contract/chat.ts';
import type { Json, JsonObject, JsonSchema } from '../../contract/json.ts';
import type { PromptMessage } from '../../contract/scenario.ts';
import type { Judgement } from '../../contract/service/judge.ts';

/** A message of the conversation between an agent (`assistant`) and its user. */
export interface UserMessage {
  readonly role: 'user' | 'assistant';
  readonly content: string;
}

/** The MCP session that an author's code runs in. Each client has its own session. */
export interface Session {
  /** A unique id that may be shown. It is not the secret session id that the client sends over HTTP. */
  readonly id: string;
  /** The protocol revision in use, such as `2025-11-25`. */
  readonly protocol: string;
  readonly client: { readonly name: string; readonly version: string } | undefined;
}

export type LogLevel = 'debug' | 'info' | 'warning' | 'error';
/** Logs messages for the client. `ctx.log('text')` logs at the level `info`. */
export interface Log {
  (message: string): void;
  debug(message: string): void;
  info(message: string): void;
  warning(message: string): void;
  error(message: string): void;
}

/**
 * Reports `progress`, an integer, of `total` (100 by default, null if the total is unknown). Reports are dropped after
 * the reply, and when the client sent no progress token.
 */
export type ReportProgress = (progress: number, total?: number | null, message?: string) => void;

export interface ToolContext {
  readonly signal: AbortSignal;
  readonly progress: ReportProgress;
  readonly log: Log;
  readonly session: Session;
  /** The seed of the session, an integer. Random choices made from it can be repeated. 0 if setup got no seed. */
  readonly seed: number;
  /** `_meta` of the request, without the key that the harness uses. */
  readonly meta: Readonly<Record<string, unknown>>;
  /** The requests that the client can answer. */
  readonly capabilities: ClientOffer;
  /** The messages so far, the prompt's included, during the evaluation of a scenario with a user. Otherwise empty. */
  readonly conversation: readonly UserMessage[];
  /**
   * Asks the person behind the client. Questions that are asked at once (`Promise.all`) reach the client together.
   *
   * @throws Error if the client cannot ask, and if no answer comes within ten minutes.
   */
  elicit(request: ElicitRequest): Promise<ElicitAnswer>;
  /** Asks the client's model. @throws Error in the same cases as `elicit`. */
  sample(request: SampleRequest): Promise<SampleAnswer>;
  /**
   * Asks the judge of the harness. This works only during the evaluation of a scenario, and only if the harness is
   * Proctor's and has a model for judges (`models.judge`).
   *
   * @throws NoJudgeError if the harness has no judge. @throws Error if the judge gave no verdict. An evaluation that
   *   does not catch these errors fails, without a reward.
   */
  judge(question: JudgeQuestion): Promise<Judgement>;
  /** Lists the folders and files that the client works on. @throws Error in the same cases as `elicit`. */
  roots(options?: QuestionOptions): Promise<readonly Root[]>;
}

export interface ClientOffer {
  readonly elicitation: boolean;
  readonly sampling: boolean;
  readonly roots: boolean;
}

export interface QuestionOptions {
  /** The name of the question on MCP 2026-07-28, unique in a call. Default: the kind of the question and a number. */
  readonly key?: string | undefined;
}

export interface ElicitRequest extends QuestionOptions {
  readonly message: string;
  /** The schema of an object whose properties are texts, numbers, booleans or choices. */
  readonly requestedSchema: JsonSchema;
}

export interface ElicitAnswer {
  readonly action: 'accept' | 'decline' | 'cancel';
  /** The values of the form, if the person accepted it. */
  readonly content?: JsonObject;
}

export interface SampleRequest extends QuestionOptions {
  readonly messages: readonly PromptMessage[];
  readonly maxTokens: number;
  readonly systemPrompt?: string;
  /** `_meta` of the request to the client. */
  readonly meta?: JsonObject;
}

/** A question for a judge: a model that reads material and scores it by a rubric. */
export interface JudgeQuestion extends QuestionOptions {
  /** The rule to judge by, in plain words. It must come from the author: never put text of an agent into it. */
  readonly rubric: string;
  /**
   * The text or JSON to judge, at most 200,000 characters. The judge treats it as data, even if it contains
   * instructions.
   */
  readonly material: string | JsonObject | readonly Json[] | readonly UserMessage[];
  /** The form of a verdict: `boolean` (the default), or a range of numbers. */
  readonly scale?: 'boolean' | { readonly min: number; readonly max: number };
  /** The model that judges. Default: the `judge_model` of the run, else `models.judge` of the configuration. */
  readonly model?: string;
  /** Number of verdicts to ask for, 1 to 25. Default 1. */
  readonly votes?: number;
  /** Facts that the judge may rely on, such as the right answer. Like the rubric, they must come from the author. */
  readonly context?: string;
}

export interface SampleAnswer {
  readonly role: string;
  readonly content: ContentBlock;
  readonly model: string;
}

export interface Root {
  /** A `file://` URI. */
  readonly uri: string;
  readonly name?: string;
}

export interface InitializeContext {
  readonly meta: {
    readonly progressToken?: string | number;
    /** Width of the display in pixels. Default 1920. */
    readonly display_width: number;
    /** Height of the display in pixels. Default 1080. */
    readonly display_height: number;
    readonly [key: string]: unknown;
  };
  readonly session: Session;
  /** The seed that a harness sent with `initialize`, 0 without one. The seed of setup arrives later. */
  readonly seed: number;
  readonly progress: ReportProgress;
  readonly signal: AbortSignal;
}
