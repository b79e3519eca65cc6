import type { UserMessage } from '../../../authoring/author-context.ts';
import type {
  ClientOffer,
  Log,
  LogLevel,
  ReportProgress,
  Session,
  ToolContext,
} from '../../../authoring/definition.ts';
import type { Report } from '../../cleanup.ts';
import { conversationOf } from './judge-question.ts';

const NOTHING: ClientOffer = { elicitation: false, sampling: false, roots: false };

/**
 * The context of a scenario, which lasts longer than the requests of its halves. Its methods use the request that is
 * open now. If that request is aborted, so is the signal.
 */
export class ScenarioContext implements ToolContext {
  readonly session: Session;
  readonly signal: AbortSignal;
  /**
   * The same array throughout, because a generator may have destructured its context before the evaluation fills the
   * array.
   */
  readonly conversation: UserMessage[] = [];
  readonly progress: ReportProgress = (...report) => this.#current?.progress(...report);
  readonly log: Log = Object.assign((message: string) => this.#current?.log(message), {
    debug: (message: string) => this.#current?.log.debug(message),
    info: (message: string) => this.#current?.log.info(message),
    warning: (message: string) => this.#current?.log.warning(message),
    error: (message: string) => this.#current?.log.error(message),
  });

  readonly #aborter = new AbortController();
  #current: ToolContext | undefined;
  #meta: ToolContext['meta'] = {};
  #seed: number;

  /** @param request is that of the setup, because a generator may destructure its context before it starts. */
  constructor({ session, seed }: Pick<ToolContext, 'session' | 'seed'>) {
    this.session = session;
    this.#seed = seed;
    this.signal = this.#aborter.signal;
  }

  get meta(): ToolContext['meta'] {
    return this.#meta;
  }

  get seed(): number {
    return this.#seed;
  }

  get capabilities(): ClientOffer {
    return this.#current?.capabilities ?? NOTHING;
  }

  /** Runs `work` as part of the request that `context` belongs to. */
  async during<T>(context: ToolContext, work: () => Promise<T>): Promise<T> {
    const abort = () => this.#aborter.abort(context.signal.reason);
    this.#current = context;
    this.#meta = context.meta;
    this.conversation.splice(0, this.conversation.length, ...conversationOf(context.meta));
    this.#seed = context.seed;
    context.signal.addEventListener('abort', abort, { once: true });
    if (context.signal.aborted) abort();
    try {
      return await work();
    } finally {
      context.signal.removeEventListener('abort', abort);
      this.#current = undefined;
    }
  }

  abort(): void {
    this.#aborter.abort(new Error('The scenario is over'));
  }

  readonly elicit: ToolContext['elicit'] = async (request) => this.#running().elicit(request);
  readonly sample: ToolContext['sample'] = async (request) => this.#running().sample(request);
  readonly judge: ToolContext['judge'] = async (question) => this.#running().judge(question);
  readonly roots: ToolContext['roots'] = async (options) => this.#running().roots(options);

  #running(): ToolContext {
    if (this.#current === undefined) throw new Error('No request of the client is open between setup and evaluation');
    return this.#current;
  }
}

/** A request whose client gets progress, but no texts. Its log goes to the log of the process. */
export function withoutWords(request: ToolContext, report: Report): ToolContext {
  const write = (level: LogLevel) => (message: string) => report(`${level}: ${message}`);
  return {
    session: request.session,
    seed: request.seed,
    signal: request.signal,
    meta: request.meta,
    conversation: [],
    get capabilities() {
      return request.capabilities;
    },
    progress: (progress, total) => request.progress(progress, total),
    log: Object.assign(write('info'), {
      debug: write('debug'),
      info: write('info'),
      warning: write('warning'),
      error: write('error'),
    }),
    elicit: (asked) => request.elicit(asked),
    sample: (asked) => request.sample(asked),
    judge: (question) => request.judge(question),
    roots: (options) => request.roots(options),
  };
}
