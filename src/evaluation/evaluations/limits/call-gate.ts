import { FairQueue } from '../../../environment/process/waiting-line.ts';
import { type AdaptiveLimit, callsAtOnce, newLimit, type Refusal } from '../../../models/gateway/adaptive-limit.ts';
import { SignsOfLife } from '../../../store/database/row-lease.ts';
import { GONE_AFTER_MS } from '../../../support/runtime/periods.ts';
import { applyEvent, type LimitEvent, type LimitExchange, type LimitUser } from './limit-rows.ts';

/** Permission to send one try. The holder must call `leave` in any case. */
export interface ModelPermit {
  /** `cuts` of the limit when it was taken. */
  readonly sentAt: number;
  /** True if all places were taken, including this one. */
  readonly isLast: boolean;
  /** Later calls do nothing. */
  leave(): void;
}

/** Milliseconds after which the remaining places go to other workers. */
const TURN_MS = 5_000;

/**
 * Limits this worker's concurrent calls of one model to its share of the common limit. It knows its own calls at once,
 * and those of other workers through `takeIn`.
 */
export class CallGate {
  readonly #worker: string;
  readonly #now: () => number;
  readonly #line = new FairQueue<ModelPermit>();
  readonly #signs = new SignsOfLife(GONE_AFTER_MS.gatewayUser);
  #events: LimitEvent[] = [];
  #state: AdaptiveLimit;
  #ceiling: number;
  /** Highest ceiling of all workers. */
  #commonCeiling: number;
  #others: readonly LimitUser[] = [];
  #inFlight = 0;

  constructor(worker: string, ceiling: number, now: () => number) {
    this.#worker = worker;
    this.#now = now;
    this.#ceiling = ceiling;
    this.#commonCeiling = ceiling;
    this.#state = newLimit(ceiling);
  }

  /** This worker as other workers see it. */
  get user(): LimitUser {
    const wanted = this.#inFlight + this.#line.size;
    return { worker: this.#worker, wanted, ceiling: this.#ceiling, seenAt: this.#now() };
  }

  get inFlight(): number {
    return this.#inFlight;
  }

  get waiting(): number {
    return this.#line.size;
  }

  /** Concurrent calls that this worker may make. */
  get share(): number {
    const limit = callsAtOnce(this.#state, this.#commonCeiling);
    const { worker, wanted } = this.user;
    return Math.min(this.#ceiling, shareOf({ worker, wanted }, this.#others, { limit, turn: this.#turn() }));
  }

  setCeiling(ceiling: number): void {
    this.#ceiling = ceiling;
    this.#commonCeiling = Math.max(ceiling, ...this.#others.map((user) => user.ceiling));
    this.#serve();
  }

  /** Waits for a place. @throws the signal's reason. */
  enter(signal: AbortSignal): Promise<ModelPermit> {
    const place = this.#line.wait({ kind: 'run', signal });
    this.#serve();
    return place;
  }

  succeeded(place: ModelPermit): void {
    if (place.isLast || this.#line.size > 0) this.#add({ type: 'success', calls: 1 });
  }

  refused({ sentAt }: ModelPermit, retryAfterMs: number | undefined): void {
    const inUse = this.#inFlight / Math.max(1, this.share);
    const refusal: Refusal = { sentAt, retryAfterMs, inUse };
    this.#add({ type: 'refusal', ...refusal });
  }

  /** Adds an event that did not happen in a place. */
  note(type: 'server_error' | 'held' | 'released'): void {
    this.#add({ type });
  }

  /** Returns and clears the events since the last call. */
  takeEvents(): readonly LimitEvent[] {
    const events = this.#events;
    this.#events = [];
    return events;
  }

  /** Puts back events that could not be stored; they come first next time. */
  putBack(events: readonly LimitEvent[]): void {
    this.#events = [...events, ...this.#events];
  }

  /**
   * Takes over the common state of all workers, and applies later local events to it. @returns workers that are gone.
   */
  takeIn({ state, users }: LimitExchange): readonly string[] {
    const gone = [...this.#signs.see(users.map(({ worker, seenAt }) => [worker, seenAt])).keys()];
    this.#others = users.filter(({ worker }) => worker !== this.#worker && !gone.includes(worker));
    this.#commonCeiling = Math.max(this.#ceiling, ...this.#others.map(({ ceiling }) => ceiling));
    this.#state = this.#events.reduce((before, event) => applyEvent(before, event, this.#moment()), state);
    this.#serve();
    return gone;
  }

  #moment() {
    return { now: this.#now(), ceiling: this.#commonCeiling };
  }

  #turn(): number {
    return Math.floor(this.#now() / TURN_MS);
  }

  #add(event: LimitEvent): void {
    const last = this.#events.at(-1);
    if (event.type === 'success' && last?.type === 'success') {
      this.#events[this.#events.length - 1] = { type: 'success', calls: last.calls + event.calls };
    } else this.#events.push(event);
    this.#state = applyEvent(this.#state, event, this.#moment());
    this.#serve();
  }

  #serve(): void {
    while (this.#line.size > 0 && this.#inFlight < this.share) {
      this.#inFlight += 1;
      const isLast = this.#inFlight >= this.share;
      let hasLeft = false;
      this.#line.serve({
        sentAt: this.#state.cuts,
        isLast,
        leave: () => {
          if (hasLeft) return;
          hasLeft = true;
          this.#inFlight -= 1;
          this.#serve();
        },
      });
    }
  }
}

/**
 * The places of a worker. If there are enough, it gets as many as it wants and a share of the rest. Otherwise it gets a
 * share in proportion; remaining places rotate, so that a share below one also gets a place at times.
 */
function shareOf(
  own: Pick<LimitUser, 'worker' | 'wanted'>,
  others: readonly Pick<LimitUser, 'worker' | 'wanted'>[],
  { limit, turn }: { readonly limit: number; readonly turn: number },
): number {
  if (others.length === 0) return limit;
  const users = [...others, own].sort((a, b) => (a.worker < b.worker ? -1 : 1));
  const wanted = users.reduce((sum, user) => sum + user.wanted, 0);
  const index = users.indexOf(own);
  const inTurn = (index + turn) % users.length;
  if (wanted <= limit) {
    const left = limit - wanted;
    return own.wanted + Math.floor(left / users.length) + (inTurn < left % users.length ? 1 : 0);
  }
  const parts = users.map((user) => Math.floor((limit * user.wanted) / wanted));
  const odd = limit - parts.reduce((sum, part) => sum + part, 0);
  const hungry = users
    .map((user, at) => ({ at, isHungry: user.wanted > (parts[at] ?? 0) }))
    .filter((each) => each.isHungry);
  const place = hungry.findIndex(({ at }) => at === index);
  const isServed = place !== -1 && (place + turn * Math.max(1, odd)) % hungry.length < odd;
  return (parts[index] ?? 0) + (isServed ? 1 : 0);
}
