import type { ClientOffer, Log, Session, ToolContext } from '../../environment/definition.ts';
import { elicitQuestion, type Question, rootsQuestion, sampleQuestion } from './client-requests.ts';
import { askJudge, conversationOf } from './judge-question.ts';

/** A call that goes over several requests of its client, as the context of its author's code sees it. */
export interface MultiRoundTripCall {
  /** Aborted when the request that is open is, and when the call is given up. */
  readonly signal: AbortSignal;
  /** Context of the open request; undefined between two requests. */
  readonly current: ToolContext | undefined;
  /** `_meta` of the last request. */
  readonly meta: ToolContext['meta'];
  readonly capabilities: ClientOffer;
  /** Resolves with the client's answer, in this request or a later one. Rejects when the call is given up. */
  ask<Answer>(kind: string, key: string | undefined, question: Question<Answer>): Promise<Answer>;
}

/** The context of a call that may go over several requests. */
export class SuspendedContext implements ToolContext {
  readonly session: Session;
  readonly seed: number;
  readonly #call: MultiRoundTripCall;
  #log: Log | undefined;

  /** @param first the context of the request that the call began with. */
  constructor(call: MultiRoundTripCall, { session, seed }: ToolContext) {
    this.#call = call;
    this.session = session;
    this.seed = seed;
  }

  get signal(): AbortSignal {
    return this.#call.signal;
  }

  get meta(): ToolContext['meta'] {
    return this.#call.meta;
  }

  get conversation(): ToolContext['conversation'] {
    return conversationOf(this.#call.meta);
  }

  get capabilities(): ClientOffer {
    return this.#call.capabilities;
  }

  get progress(): ToolContext['progress'] {
    return (...report) => this.#call.current?.progress(...report);
  }

  get log(): Log {
    this.#log ??= logOf(this.#call);
    return this.#log;
  }

  get elicit(): ToolContext['elicit'] {
    return async (request) => this.#call.ask('elicitation', request.key, elicitQuestion(request));
  }

  get sample(): ToolContext['sample'] {
    return async (request) => this.#call.ask('sampling', request.key, sampleQuestion(request));
  }

  get judge(): ToolContext['judge'] {
    return (question) => askJudge(this.sample, question);
  }

  get roots(): ToolContext['roots'] {
    return async (options = {}) => this.#call.ask('roots', options.key, rootsQuestion());
  }
}

function logOf(call: MultiRoundTripCall): Log {
  return Object.assign((message: string) => call.current?.log(message), {
    debug: (message: string) => call.current?.log.debug(message),
    info: (message: string) => call.current?.log.info(message),
    warning: (message: string) => call.current?.log.warning(message),
    error: (message: string) => call.current?.log.error(message),
  });
}
