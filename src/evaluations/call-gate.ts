import { type AdaptiveLimit, callsAtOnce, newLimit, type Refusal } from '../model/adaptive-limit.ts';
import { WaitingLine } from '../process/waiting-line.ts';
import { applyEvent, type LimitEvent, type LimitExchange, type LimitUser } from './limit-rows.ts';

/** The right to send one try. Its holder leaves it, however the try goes. */
export interface Place {
  /** `cuts` of the limit when it was taken. */
  readonly sentAt: number;
  /** Whether all places were taken, this one among them. */
  readonly isLast: boolean;
  /** Later calls do nothing. */
  leave(): void;
}

/** A worker that does not write any more is gone after so long, in milliseconds. */
const GONE_AFTER_MS = 10_000;
/** Who gets the places that cannot be shared out evenly changes so often, in milliseconds. */
const TURN_MS = 5_000;

/**
 * The calls of one model that this worker makes at once: its share of the limit that all workers have found out together.
 * It knows at once what happens here, and of the others by `takeIn`.
 */
export class CallGate {
  readonly #worker: string;
  readonly #now: () => number;
  readonly #line = new WaitingLine<Place>();
  /** When a user was last seen to write, by `performance.now()`: clocks of other machines are not compared with this one's. */
  readonly #heard = new Map<string, { readonly seenAt: number; readonly at: number }>();
  #events: LimitEvent[] = [];
  #state: AdaptiveLimit;
  #ceiling: number;
  /** Of all workers. */
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

  /** What this worker would tell the others. */
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

  /** Calls that this worker may make at once. */
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

  /** @throws the reason of the signal. */
  enter(signal: AbortSignal): Promise<Place> {
    const place = this.#line.wait({ kind: 'run', signal });
    this.#serve();
    return place;
  }

  succeeded(place: Place): void {
    if (place.isLast || this.#line.size > 0) this.#add({ type: 'success', calls: 1 });
  }

  refused({ sentAt }: Place, retryAfterMs: number | undefined): void {
    const inUse = this.#inFlight / Math.max(1, this.share);
    const refusal: Refusal = { sentAt, retryAfterMs, inUse };
    this.#add({ type: 'refusal', ...refusal });
  }

  /** For events that come from elsewhere than a place. */
  note(type: 'server_error' | 'held' | 'released'): void {
    this.#add({ type });
  }

  /** Hands over what happened since the last time. */
  takeEvents(): readonly LimitEvent[] {
    const events = this.#events;
    this.#events = [];
    return events;
  }

  /** What could not be told comes first the next time. */
  putBack(events: readonly LimitEvent[]): void {
    this.#events = [...events, ...this.#events];
  }

  /** What all workers know now; what happened here meanwhile comes on top. @returns workers that are gone. */
  takeIn({ state, users }: LimitExchange): readonly string[] {
    const gone = this.#hear(users);
    this.#others = users.filter(({ worker }) => worker !== this.#worker && !gone.includes(worker));
    this.#commonCeiling = Math.max(this.#ceiling, ...this.#others.map(({ ceiling }) => ceiling));
    this.#state = this.#events.reduce((before, event) => applyEvent(before, event, this.#moment()), state);
    this.#serve();
    return gone;
  }

  #hear(users: readonly LimitUser[]): readonly string[] {
    const at = performance.now();
    for (const { worker, seenAt } of users) {
      if (this.#heard.get(worker)?.seenAt !== seenAt) this.#heard.set(worker, { seenAt, at });
    }
    const names = new Set(users.map(({ worker }) => worker));
    for (const worker of this.#heard.keys()) if (!names.has(worker)) this.#heard.delete(worker);
    return [...this.#heard].filter(([, heard]) => at - heard.at > GONE_AFTER_MS).map(([worker]) => worker);
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
 * How many of the places a worker has. Where there are enough, as many as it wants and a part of what is left; else a part
 * by what it wants, and the odd ones in turns, so that a worker whose part is less than one gets a place too.
 */
export function shareOf(
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
