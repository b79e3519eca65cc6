import type { InputRequests } from '@modelcontextprotocol/server';
import type { ClientOffer, Log, Session, ToolContext } from '../../environment/definition.ts';
import type { Report } from '../cleanup.ts';
import { elicitQuestion, missingCapability, type Question, rootsQuestion, sampleQuestion } from './client-requests.ts';
import type { EnvironmentRequest } from './request.ts';

/** What a call has come to: its end, or questions that its client has to answer before it goes on. */
export type Outcome<Result> =
  | { readonly kind: 'ended'; readonly result: Promise<Result> }
  | { readonly kind: 'asks'; readonly inputRequests: InputRequests };

/** One request of the client, and the answers that it brings. */
export interface Round {
  readonly request: EnvironmentRequest;
  readonly answers: Readonly<Record<string, unknown>>;
}

interface Asked {
  readonly question: Question<unknown>;
  resolve(answer: unknown): void;
  reject(error: Error): void;
}

/**
 * A call that goes over several requests of its client, each of which brings answers to what the one before asked. The
 * author's code runs once, from its first line to its last, and waits in between; what it reports goes to the request
 * that is open.
 */
export class SuspendedCall<Result> {
  readonly #first: EnvironmentRequest;
  readonly #report: Report;
  readonly #run: (request: EnvironmentRequest) => Promise<Result>;
  readonly #aborter = new AbortController();
  readonly #asked = new Map<string, Asked>();
  #round: Round | undefined;
  #capabilities: ClientOffer;
  #meta: ToolContext['meta'];
  #ended: Promise<Result> | undefined;
  #isSettled = false;
  #tell: ((outcome: Outcome<Result>) => void) | undefined;
  #count = 0;

  /** `run` is called by the first round. */
  constructor(first: EnvironmentRequest, report: Report, run: (request: EnvironmentRequest) => Promise<Result>) {
    this.#first = first;
    this.#report = report;
    this.#run = run;
    this.#capabilities = first.context.capabilities;
    this.#meta = first.context.meta;
  }

  /** Goes on with the answers of one request until the call ends or asks again. Aborting that request aborts the call. */
  async advance(round: Round): Promise<Outcome<Result>> {
    const { signal } = round.request.context;
    const abort = () =>
      this.abandon(signal.reason instanceof Error ? signal.reason : new Error('The call was aborted'));
    this.#round = round;
    this.#capabilities = round.request.context.capabilities;
    this.#meta = round.request.context.meta;
    signal.addEventListener('abort', abort, { once: true });
    if (signal.aborted) abort();
    try {
      return await new Promise<Outcome<Result>>((resolve) => {
        this.#tell = resolve;
        for (const [key, asked] of this.#asked) this.#answer(key, asked);
        if (this.#ended === undefined) this.#ended = this.#start();
        else this.#tellSoon();
      });
    } finally {
      signal.removeEventListener('abort', abort);
      this.#tell = undefined;
      this.#round = undefined;
    }
  }

  /** Gives the call up: its signal is aborted, and what it waits for rejects. */
  abandon(reason: Error): void {
    this.#aborter.abort(reason);
    for (const { reject } of this.#asked.values()) reject(reason);
    this.#asked.clear();
  }

  #start(): Promise<Result> {
    const { audience } = this.#first;
    const ended = this.#run({
      audience,
      context: this.#context(),
      reportFailure: (what, error) => {
        // Whoever gave the call up knows why.
        if (this.#aborter.signal.aborted && error === this.#aborter.signal.reason) return;
        if (this.#round === undefined) this.#report(`${what}: ${String(error)}`);
        else this.#round.request.reportFailure(what, error);
      },
      finish: async () => {},
    });
    const settle = () => {
      this.#isSettled = true;
      this.#tell?.({ kind: 'ended', result: ended });
    };
    ended.then(settle, settle);
    return ended;
  }

  /** Questions that are asked one right after the other go out together. */
  #tellSoon(): void {
    setImmediate(() => {
      if (this.#ended !== undefined && this.#isSettled) this.#tell?.({ kind: 'ended', result: this.#ended });
      else if (this.#asked.size > 0) this.#tell?.({ kind: 'asks', inputRequests: this.#inputRequests() });
    });
  }

  #inputRequests(): InputRequests {
    return Object.fromEntries([...this.#asked].map(([key, { question }]) => [key, question.request]));
  }

  #ask<Answer>(kind: string, key: string | undefined, question: Question<Answer>): Promise<Answer> {
    this.#aborter.signal.throwIfAborted();
    if (!this.#capabilities[question.capability]) throw missingCapability(question.capability);
    this.#count += 1;
    const name = key ?? `${kind}_${this.#count}`;
    if (this.#asked.has(name)) throw new Error(`The question ${JSON.stringify(name)} is being asked already`);
    return new Promise<Answer>((resolve, reject) => {
      const asked = { question, resolve: resolve as (answer: unknown) => void, reject };
      this.#asked.set(name, asked);
      this.#answer(name, asked);
      this.#tellSoon();
    });
  }

  /** Answers a question from the request that is open, where it can. */
  #answer(key: string, { question, resolve }: Asked): void {
    const answers = this.#round?.answers ?? {};
    const answer = Object.hasOwn(answers, key) ? question.read(answers[key]) : undefined;
    if (answer === undefined) return;
    this.#asked.delete(key);
    resolve(answer);
  }

  #context(): ToolContext {
    const current = () => this.#round?.request.context;
    const log: Log = Object.assign((message: string) => current()?.log(message), {
      debug: (message: string) => current()?.log.debug(message),
      info: (message: string) => current()?.log.info(message),
      warning: (message: string) => current()?.log.warning(message),
      error: (message: string) => current()?.log.error(message),
    });
    const session: Session = this.#first.context.session;
    const meta = () => this.#meta;
    const capabilities = () => this.#capabilities;
    return {
      session,
      log,
      signal: this.#aborter.signal,
      progress: (...report) => current()?.progress(...report),
      get meta() {
        return meta();
      },
      get capabilities() {
        return capabilities();
      },
      elicit: async (request) => this.#ask('elicitation', request.key, elicitQuestion(request)),
      sample: async (request) => this.#ask('sampling', request.key, sampleQuestion(request)),
      roots: async (options = {}) => this.#ask('roots', options.key, rootsQuestion()),
    };
  }
}
