import type { Audience, ClientOffer, Log, Session, ToolContext } from '../../../authoring/definition.ts';
import { elicitQuestion, type Question, rootsQuestion, sampleQuestion } from '../client-requests.ts';
import { askJudge, conversationOf, refuseJudge } from './judge-question.ts';

/** A call that takes several requests of its client, as its context sees it. */
export interface MultiRoundTripCall {
  /** Aborted with the open request, and when the call is ended early. */
  readonly signal: AbortSignal;
  /** Context of the open request. Undefined between two requests. */
  readonly current: ToolContext | undefined;
  /** `_meta` of the last request. */
  readonly meta: ToolContext['meta'];
  readonly capabilities: ClientOffer;
  /** Resolves with the client's answer, in this request or a later one. Rejects if the call is ended early. */
  ask<Answer>(kind: string, key: string | undefined, question: Question<Answer>): Promise<Answer>;
}

/** The context of a call that may take several requests. */
export class SuspendedContext implements ToolContext {
  readonly session: Session;
  readonly seed: number;
  readonly #call: MultiRoundTripCall;
  readonly #audience: Audience;
  #log: Log | undefined;

  /** @param first is the request that the call began with. Later requests have the same audience. */
  constructor(
    call: MultiRoundTripCall,
    { audience, context: { session, seed } }: { readonly audience: Audience; readonly context: ToolContext },
  ) {
    this.#call = call;
    this.#audience = audience;
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
    return this.#audience === 'harness' ? (question) => askJudge(this.sample, question) : refuseJudge;
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
