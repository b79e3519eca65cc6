import type { Logger } from 'pino';
import type { Usage } from '../../contract/chat.ts';
import { BoundaryError, OVER_BUDGET } from '../../contract/errors.ts';
import type { CallGuard, CallWatch, GuardedCall } from '../../models/gateway/call-guard.ts';
import { MAX_TRIES, type RetryTiming, retryWaitMs } from '../../models/gateway/retries.ts';
import type { GatewayFailure } from '../../models/gateway-failure.ts';
import { type Backoff, backoffMs } from '../../support/runtime/backoff.ts';
import { countText, moneyText } from '../../support/text/figures.ts';
import type { Amount, BudgetedCall, Budgets } from './limits/budget.ts';
import type { CallCost } from './limits/call-cost.ts';
import type { ModelPermits, Try } from './limits/gateway-limits.ts';

/** Settings of an attempt's evaluation that its calls need. */
export interface KnownEvaluation {
  readonly concurrency: number;
  readonly hasUsdBudget: boolean;
  readonly hasTokenBudget: boolean;
}

export interface GuardParts {
  /** The trace that pays, and its evaluation. */
  readonly call: Pick<BudgetedCall, 'evaluationId' | 'traceId'>;
  readonly model: string;
  readonly lane: ModelPermits;
  readonly budgets: Budgets;
  readonly cost: CallCost;
  /** True if the gateway has prices. */
  readonly isPriced: boolean;
  readonly logger: Pick<Logger, 'warn'>;
  readonly timing: RetryTiming;
}

/** Milliseconds of refusals until they count as failed tries, and the longest pause that a gateway may ask for. */
const REFUSED_FOR_MS = 600_000;
/** Delays before the next try of a refused call, if the gateway names no time. */
const REFUSED_BACKOFF: Backoff = { firstMs: 500, longestMs: 15_000 };

/** The model calls of one attempt of an evaluation. */
export class GuardedAttempt implements CallGuard {
  readonly #parts: GuardParts;
  #evaluation: KnownEvaluation;

  constructor(parts: GuardParts, evaluation: KnownEvaluation) {
    this.#parts = parts;
    this.#evaluation = evaluation;
  }

  /** Sets the evaluation's settings for later tries. */
  setEvaluation(evaluation: KnownEvaluation): void {
    this.#evaluation = evaluation;
    this.#parts.lane.setCeiling(evaluation.concurrency);
  }

  begin(call: GuardedCall): CallWatch {
    return new GuardedCallWatch(this.#parts, call, () => this.#evaluation);
  }
}

/** A try that was allowed. */
interface OpenTry {
  readonly entered: Try;
  readonly reservation: string | undefined;
}

class GuardedCallWatch implements CallWatch {
  readonly #parts: GuardParts;
  readonly #call: GuardedCall;
  readonly #evaluation: () => KnownEvaluation;
  #sent: OpenTry | undefined;
  /** Failed tries that count. */
  #tries = 0;
  #refusals = 0;
  /** Time of the first refusal in a row, by `performance.now()`; undefined without one. */
  #refusedSince: number | undefined;

  constructor(parts: GuardParts, call: GuardedCall, evaluation: () => KnownEvaluation) {
    this.#parts = parts;
    this.#call = call;
    this.#evaluation = evaluation;
  }

  async enter(): Promise<number | null> {
    const resume = this.#call.onWait?.();
    try {
      for (;;) {
        const entered = await this.#parts.lane.enter(this.#call.signal);
        // The earlier tries failed because the gateway was down.
        if (entered.wasHeld) this.#tries = 0;
        const admitted = await this.#reserve(entered);
        if (admitted !== undefined) return admitted.maxTokens;
        await this.#parts.budgets.changed(this.#parts.call.evaluationId, this.#call.signal);
      }
    } finally {
      resume?.();
    }
  }

  async succeeded(usage: Usage, characters: number): Promise<void> {
    const sent = this.#take();
    sent?.entered.succeeded();
    sent?.entered.leave();
    await this.#settle(sent, this.#parts.cost.spent(this.#call.body, usage, characters));
  }

  async failed(failure: GatewayFailure | undefined, characters: number): Promise<boolean> {
    const sent = this.#take();
    if (sent === undefined) return false;
    try {
      const isUnknown = characters > 0 || failure === undefined;
      const cost = isUnknown ? this.#parts.cost.cut(this.#call.body, characters) : { usd: 0, tokens: 0 };
      await this.#settle(sent, cost);
      return failure !== undefined && (await this.#mayTryAgain(failure, sent.entered));
    } finally {
      sent.entered.leave();
    }
  }

  /**
   * Reserves the cost. @returns undefined if it has to wait; its place is free again then. @throws BoundaryError
   * over_budget.
   */
  async #reserve(entered: Try): Promise<{ readonly maxTokens: number | null } | undefined> {
    const { budgets, call, cost, model, isPriced } = this.#parts;
    const { hasUsdBudget, hasTokenBudget } = this.#evaluation();
    if (!hasUsdBudget && !hasTokenBudget) {
      this.#sent = { entered, reservation: undefined };
      return { maxTokens: null };
    }
    try {
      if (hasUsdBudget && !isPriced)
        throw overBudget(`${model} has no price, and the evaluation a budget in US dollars`);
      const { amount, maxTokens } = cost.worst(this.#call.body);
      const reserved = await budgets.reserve({ ...call, ...amount });
      if (reserved.status === 'reserved') {
        this.#sent = { entered, reservation: reserved.id };
        return { maxTokens };
      }
      if (reserved.status === 'over')
        throw overBudget(
          `a call of ${model} may cost ${amountText(amount, isPriced)}, which is more than what is left`,
        );
      return undefined;
    } finally {
      if (this.#sent === undefined) entered.leave();
    }
  }

  async #mayTryAgain(failure: GatewayFailure, entered: Try): Promise<boolean> {
    const kind = kindOf(failure);
    if (kind === 'refused' && (await this.#waitAfterRefusal(failure, entered))) return true;
    if (kind !== 'refused') this.#refusedSince = undefined;
    if (kind === 'other') entered.answered();
    if (kind === 'away' && entered.failed()) {
      this.#tries = 0;
      return true;
    }
    entered.leave();
    if (!failure.isPassing) return false;
    this.#tries += 1;
    if (this.#tries >= MAX_TRIES) return false;
    await this.#sleep(retryWaitMs(failure, this.#tries, this.#parts.timing));
    return true;
  }

  /**
   * Waits after a refusal and keeps the place. If the gateway refuses all calls, another call in this place would be
   * refused, too. @returns false after refusals for too long.
   */
  async #waitAfterRefusal(failure: GatewayFailure, entered: Try): Promise<boolean> {
    const { now, random } = this.#parts.timing;
    const asked = failure.retryAfterMs(now());
    entered.refused(asked);
    this.#refusedSince ??= performance.now();
    if (performance.now() - this.#refusedSince >= REFUSED_FOR_MS) return false;
    const backoff = backoffMs(this.#refusals, REFUSED_BACKOFF, random);
    this.#refusals += 1;
    await this.#sleep(Math.min(asked ?? backoff, REFUSED_FOR_MS));
    return true;
  }

  async #sleep(ms: number): Promise<void> {
    const resume = this.#call.onWait?.();
    try {
      await this.#parts.timing.sleep(ms, this.#call.signal);
    } finally {
      resume?.();
    }
  }

  #take(): OpenTry | undefined {
    const sent = this.#sent;
    this.#sent = undefined;
    return sent;
  }

  /** Settles the cost. If the write fails, the answer is kept, and the reservation counts as the cost. */
  async #settle(sent: OpenTry | undefined, { usd, tokens }: Amount): Promise<void> {
    const { budgets, call, logger } = this.#parts;
    if (sent?.reservation === undefined && usd === 0 && tokens === 0) return;
    await budgets.settle({ ...call, usd, tokens }, sent?.reservation).catch((error: unknown) => {
      logger.warn({ err: error, traceId: call.traceId }, 'The cost of a model call could not be written');
    });
  }
}

/** `refused`: too many calls. `away`: no connection, or a server error. */
function kindOf(failure: GatewayFailure): 'refused' | 'away' | 'other' {
  const { kind, details, isPassing } = failure;
  if (kind !== 'answered') return 'away';
  if (details.status === undefined)
    return isPassing && !isRateLimit(failure) ? 'away' : isPassing ? 'refused' : 'other';
  if (details.status === 429) return isPassing ? 'refused' : 'other';
  return details.status >= 500 ? 'away' : 'other';
}

/** True for a rate limit. Errors in a stream have no status. */
function isRateLimit({ details }: GatewayFailure): boolean {
  return [details.code, details.type].some((name) => name?.startsWith('rate_limit') === true);
}

function overBudget(why: string): BoundaryError {
  return new BoundaryError(
    'model',
    OVER_BUDGET,
    `The budget of the evaluation is used up: ${why}. Give it a higher one to go on`,
  );
}

function amountText({ usd, tokens }: Amount, isPriced: boolean): string {
  return isPriced ? `${countText(tokens, 'token')} or ${moneyText(usd)}` : countText(tokens, 'token');
}
