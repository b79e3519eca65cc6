import type { ContentBlock } from '../contract/chat.ts';
import type { Json, JsonObject, JsonSchema } from '../contract/json.ts';
import type { Judgement } from '../contract/judge.ts';
import type { PromptMessage } from '../contract/scenario.ts';

/** A text of a conversation between an agent (`assistant`) and its user. */
export interface UserMessage {
  readonly role: 'user' | 'assistant';
  readonly content: string;
}

/** The MCP session an author's code runs in: one for each client. */
export interface Session {
  /** Its own for each session. Not the secret one that a client names the session by over HTTP: it may be shown. */
  readonly id: string;
  /** The protocol revision in use, such as `2025-11-25`. */
  readonly protocol: string;
  readonly client: { readonly name: string; readonly version: string } | undefined;
}

export type LogLevel = 'debug' | 'info' | 'warning' | 'error';
/** `ctx.log('text')` is info. */
export interface Log {
  (message: string): void;
  debug(message: string): void;
  info(message: string): void;
  warning(message: string): void;
  error(message: string): void;
}

/**
 * Integer `progress` of `total` (100 by default; null: nobody knows); dropped where the client gave no token, and after
 * the reply.
 */
export type ReportProgress = (progress: number, total?: number | null, message?: string) => void;

export interface ToolContext {
  readonly signal: AbortSignal;
  readonly progress: ReportProgress;
  readonly log: Log;
  readonly session: Session;
  /** The seed of the session, an integer: what is drawn by it can be drawn again. 0 where setup was given none. */
  readonly seed: number;
  /** `_meta` of the request, without the harness key. */
  readonly meta: Readonly<Record<string, unknown>>;
  /** Capabilities of the client. */
  readonly capabilities: ClientOffer;
  /** In the evaluation of a scenario with a user: the texts between the two, the prompt's among them. Else empty. */
  readonly conversation: readonly UserMessage[];
  /**
   * Asks the person behind the client. Several questions that are asked at once (`Promise.all`) reach the client together.
   *
   * @throws Error where the client cannot, and when no answer comes within ten minutes.
   */
  elicit(request: ElicitRequest): Promise<ElicitAnswer>;
  /** Asks the client's model. @throws as `elicit`. */
  sample(request: SampleRequest): Promise<SampleAnswer>;
  /**
   * Asks the judge of the harness. Only a scenario's evaluation has one to ask, and only where a harness of Proctor
   * evaluates with a model for judges (`models.judge`).
   *
   * @throws NoJudgeError where the harness has no judge. @throws Error where it gave no verdict. An evaluation that leaves
   *   either has failed, without a reward.
   */
  judge(question: JudgeQuestion): Promise<Judgement>;
  /** The folders and files that the client works on. @throws as `elicit`. */
  roots(options?: QuestionOptions): Promise<readonly Root[]>;
}

export interface ClientOffer {
  readonly elicitation: boolean;
  readonly sampling: boolean;
  readonly roots: boolean;
}

export interface QuestionOptions {
  /** The name that the question has on MCP 2026-07-28, unique in a call; its kind and a number by default. */
  readonly key?: string | undefined;
}

export interface ElicitRequest extends QuestionOptions {
  readonly message: string;
  /** An object whose properties are texts, numbers, booleans or choices. */
  readonly requestedSchema: JsonSchema;
}

export interface ElicitAnswer {
  readonly action: 'accept' | 'decline' | 'cancel';
  /** The content of an accepted form. */
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
  /** By which rule, in plain words. The author's: an agent must not write in it. */
  readonly rubric: string;
  /** The text, or JSON, that is judged. At most 200,000 characters. The judge takes it as data, whatever stands in it. */
  readonly material: string | JsonObject | readonly Json[] | readonly UserMessage[];
  /** `boolean` (default), or numbers. */
  readonly scale?: 'boolean' | { readonly min: number; readonly max: number };
  /** Default: the `judge_model` of the run, else `models.judge` of the configuration. */
  readonly model?: string;
  /** 1 to 25. Default 1. */
  readonly votes?: number;
  /** Facts that the judge may rely on, such as the right answer. The author's, as the rubric. */
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
    /** Pixels; 1920 where the client says nothing. */
    readonly display_width: number;
    /** Pixels; 1080 where the client says nothing. */
    readonly display_height: number;
    readonly [key: string]: unknown;
  };
  readonly session: Session;
  /** The seed that a harness gave with `initialize`; 0 without one. That of setup comes later. */
  readonly seed: number;
  readonly progress: ReportProgress;
  readonly signal: AbortSignal;
}
