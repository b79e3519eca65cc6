import type { InputRequests } from '@modelcontextprotocol/server';
import type { ClientOffer, ToolContext } from '../../../authoring/definition.ts';
import type { Report } from '../../cleanup.ts';
import { describeFailure } from '../../describe-thrown.ts';
import { missingCapability, type Question } from '../client-requests.ts';
import type { EnvironmentRequest } from '../request.ts';
import { type MultiRoundTripCall, SuspendedContext } from './suspended-context.ts';

/** The state of a call: its end, or questions that its client must answer first. */
export type Outcome<Result> =
  | { readonly kind: 'ended'; readonly result: Promise<Result> }
  | { readonly kind: 'asks'; readonly inputRequests: InputRequests };

/** One request of the client with its answers. */
export interface RoundTrip {
  readonly request: EnvironmentRequest;
  readonly answers: Readonly<Record<string, unknown>>;
}

interface PendingQuestion {
  readonly question: Question<unknown>;
  resolve(answer: unknown): void;
  reject(error: Error): void;
}

/**
 * A call that takes several requests of its client. Each contains the answers to the questions of the one before. The
 * author's code runs once from start to end and waits in between. Its reports go to the open request.
 */
export class SuspendedCall<Result> implements MultiRoundTripCall {
  readonly #first: EnvironmentRequest;
  readonly #report: Report;
  readonly #run: (request: EnvironmentRequest) => Promise<Result>;
  readonly #pending = new Map<string, PendingQuestion>();
  #roundTrip: RoundTrip | undefined;
  #capabilities: ClientOffer;
  #meta: ToolContext['meta'];
  /** Made when the author's code first uses its signal or asks a question, because most calls do neither. */
  #aborter: AbortController | undefined;
  #unlink: (() => void) | undefined;
  #ended: Promise<Result> | undefined;
  #isSettled = false;
  #tell: ((outcome: Outcome<Result>) => void) | undefined;
  #count = 0;

  /** The first round trip calls `run`. */
  constructor(first: EnvironmentRequest, report: Report, run: (request: EnvironmentRequest) => Promise<Result>) {
    this.#first = first;
    this.#report = report;
    this.#run = run;
    this.#capabilities = first.context.capabilities;
    this.#meta = first.context.meta;
  }

  /**
   * Continues with the answers of one request until the call ends or asks again. If that request is aborted, so is the
   * call.
   */
  async advance(roundTrip: RoundTrip): Promise<Outcome<Result>> {
    this.#roundTrip = roundTrip;
    this.#capabilities = roundTrip.request.context.capabilities;
    this.#meta = roundTrip.request.context.meta;
    if (this.#aborter !== undefined) this.#link();
    try {
      return await new Promise<Outcome<Result>>((resolve) => {
        this.#tell = resolve;
        for (const [key, pending] of this.#pending) this.#answer(key, pending);
        if (this.#ended === undefined) this.#ended = this.#start();
        else this.#tellSoon();
      });
    } finally {
      this.#unlink?.();
      this.#tell = undefined;
      this.#roundTrip = undefined;
    }
  }

  /** Ends the call: aborts its signal and rejects its open questions. */
  abandon(reason: Error): void {
    this.#aborter?.abort(reason);
    for (const { reject } of this.#pending.values()) reject(reason);
    this.#pending.clear();
  }

  get signal(): AbortSignal {
    if (this.#aborter === undefined) {
      this.#aborter = new AbortController();
      this.#link();
    }
    return this.#aborter.signal;
  }

  get current(): ToolContext | undefined {
    return this.#roundTrip?.request.context;
  }

  get meta(): ToolContext['meta'] {
    return this.#meta;
  }

  get capabilities(): ClientOffer {
    return this.#capabilities;
  }

  #link(): void {
    const signal = this.#roundTrip?.request.context.signal;
    if (signal === undefined) return;
    const abort = () =>
      this.abandon(signal.reason instanceof Error ? signal.reason : new Error('The call was aborted'));
    if (signal.aborted) {
      abort();
      return;
    }
    signal.addEventListener('abort', abort, { once: true });
    this.#unlink = () => {
      signal.removeEventListener('abort', abort);
      this.#unlink = undefined;
    };
  }

  #start(): Promise<Result> {
    const { audience, isHarnessPeer } = this.#first;
    const ended = this.#run({
      audience,
      isHarnessPeer,
      context: new SuspendedContext(this, this.#first),
      reportFailure: (what, error) => {
        // Not reported, because the code that aborted the call knows the reason.
        if (this.#aborter?.signal.aborted === true && error === this.#aborter.signal.reason) return;
        if (this.#roundTrip === undefined) this.#report(describeFailure(what, error));
        else this.#roundTrip.request.reportFailure(what, error);
      },
      progress: undefined,
    });
    const settle = () => {
      this.#isSettled = true;
      this.#tell?.({ kind: 'ended', result: ended });
    };
    ended.then(settle, settle);
    return ended;
  }

  /** Waits one turn of the event loop, so that questions asked in a row are sent together. */
  #tellSoon(): void {
    setImmediate(() => {
      if (this.#ended !== undefined && this.#isSettled) this.#tell?.({ kind: 'ended', result: this.#ended });
      else if (this.#pending.size > 0) this.#tell?.({ kind: 'asks', inputRequests: this.#inputRequests() });
    });
  }

  #inputRequests(): InputRequests {
    return Object.fromEntries([...this.#pending].map(([key, { question }]) => [key, question.request]));
  }

  async ask<Answer>(kind: string, key: string | undefined, question: Question<Answer>): Promise<Answer> {
    this.signal.throwIfAborted();
    if (!this.#capabilities[question.capability]) throw missingCapability(question.capability);
    this.#count += 1;
    const name = key ?? `${kind}_${this.#count}`;
    if (this.#pending.has(name)) throw new Error(`The question ${JSON.stringify(name)} is being asked already`);
    return new Promise<Answer>((resolve, reject) => {
      const pending = { question, resolve: resolve as (answer: unknown) => void, reject };
      this.#pending.set(name, pending);
      this.#answer(name, pending);
      this.#tellSoon();
    });
  }

  /** Answers a question if the open request contains the answer. */
  #answer(key: string, { question, resolve }: PendingQuestion): void {
    const answers = this.#roundTrip?.answers ?? {};
    const answer = Object.hasOwn(answers, key) ? question.read(answers[key]) : undefined;
    if (answer === undefined) return;
    this.#pending.delete(key);
    resolve(answer);
  }
}
