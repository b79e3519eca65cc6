import type { Logger } from 'pino';
import type { Database } from '../../../store/database/database.ts';
import { type Loop, startLoop } from '../../../support/runtime/loop.ts';
import { PERIODS_MS } from '../../../support/runtime/periods.ts';
import { CallGate, type ModelPermit } from './call-gate.ts';
import { CircuitBreaker, HOLD_TIMING, type HoldTiming, type Permit } from './circuit-breaker.ts';
import { changeHold, type HoldState, readHold } from './hold-rows.ts';
import { exchangeLimit, type LimitKey, leaveLimit } from './limit-rows.ts';

export interface GatewayLimitsOptions {
  readonly database: Database;
  /** Name of the worker. */
  readonly worker: string;
  readonly logger: Pick<Logger, 'warn'>;
  readonly hold?: HoldTiming | undefined;
  /** Milliseconds between two exchanges with the other workers. Default 1,000. */
  readonly syncMs?: number | undefined;
  /** Milliseconds since 1970. */
  readonly now?: (() => number) | undefined;
}

/** A try in progress. The holder must report its result, and call `leave` in any case. */
export interface Try {
  /** True if the call waited until its gateway was back. */
  readonly wasHeld: boolean;
  succeeded(): void;
  /** Reports that the gateway refused the call because of too many calls. */
  refused(retryAfterMs: number | undefined): void;
  /** Reports another answer of the gateway, such as an unknown model. */
  answered(): void;
  /**
   * Reports an outage or a server error. @returns true if the gateway is held: its calls wait, and failed tries do not
   * count.
   */
  failed(): boolean;
  /** Later calls do nothing. */
  leave(): void;
}

/** Permits for the calls of one model in one attempt. */
export interface ModelPermits {
  /** Waits for a place. @throws BoundaryError boundary `model` if the gateway is given up; the signal's reason. */
  enter(signal: AbortSignal): Promise<Try>;
  /** Sets the most concurrent calls that the evaluation allows. */
  setCeiling(ceiling: number): void;
  /** Called at the end of the attempt. */
  close(): void;
}

/**
 * Limits the concurrent calls of each model in this worker (contract section 7, "Concurrency"). It shares its results
 * with the other workers of the database: bad news at once, other news once a second. The caller must close it.
 */
export class GatewayLimits {
  readonly #options: GatewayLimitsOptions;
  readonly #gateways = new Map<string, Gateway>();
  readonly #now: () => number;
  /** Runs one exchange with the database at a time. */
  readonly #exchanges: Loop;
  #isClosed = false;

  constructor(options: GatewayLimitsOptions) {
    this.#options = options;
    this.#now = options.now ?? Date.now;
    this.#exchanges = startLoop({
      look: (signal) => this.#sync(signal),
      restMs: options.syncMs ?? PERIODS_MS.gatewayLimits,
      onError: (error) => options.logger.warn({ err: error }, 'The limits of gateways could not be shared'),
    });
  }

  /** @param ceiling most concurrent calls that the evaluation allows. */
  open({ gateway: id, model }: LimitKey, ceiling: number): ModelPermits {
    const gateway = this.#gateways.get(id) ?? {
      id,
      breaker: new CircuitBreaker(this.#options.hold ?? HOLD_TIMING),
      isUntold: false,
      gates: new Map(),
    };
    this.#gateways.set(id, gateway);
    const known = gateway.gates.get(model);
    const entry = known ?? { gate: new CallGate(this.#options.worker, ceiling, this.#now), ceilings: new Map() };
    gateway.gates.set(model, entry);
    const lane = {};
    const setCeiling = (value: number) => {
      if (entry.ceilings.get(lane) === value) return;
      entry.ceilings.set(lane, value);
      entry.gate.setCeiling(Math.max(...entry.ceilings.values()));
    };
    setCeiling(ceiling);
    if (known === undefined) this.#exchanges.wake();
    return {
      enter: (signal) => this.#enter(gateway, entry.gate, signal),
      setCeiling,
      close: () => {
        entry.ceilings.delete(lane);
        if (entry.ceilings.size > 0) entry.gate.setCeiling(Math.max(...entry.ceilings.values()));
      },
    };
  }

  /** Removes this worker's share. Never rejects. */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    await this.#exchanges.stop();
    for (const gateway of this.#gateways.values()) {
      for (const model of gateway.gates.keys()) await this.#forget(gateway, model).catch(() => {});
    }
  }

  async #enter(gateway: Gateway, gate: CallGate, signal: AbortSignal): Promise<Try> {
    let wasHeld = false;
    for (;;) {
      const permit = await gateway.breaker.pass(signal);
      wasHeld ||= permit.wasHeld;
      const place = await gate.enter(signal);
      if (!gateway.breaker.isHeld || permit.isProbe) return this.#begin({ gateway, gate, place, permit }, wasHeld);
      place.leave();
    }
  }

  #begin({ gateway, gate, place, permit }: Sent, wasHeld: boolean): Try {
    const answered = () => {
      if (gateway.breaker.answered(permit)) this.#tell(gateway);
    };
    return {
      wasHeld,
      answered,
      succeeded: () => {
        answered();
        gate.succeeded(place);
      },
      refused: (retryAfterMs) => {
        answered();
        gate.refused(place, retryAfterMs);
        this.#exchanges.wake();
      },
      failed: () => {
        gate.note('server_error');
        if (gateway.breaker.failed()) this.#tell(gateway);
        return gateway.breaker.isHeld;
      },
      leave: place.leave,
    };
  }

  #tell(gateway: Gateway): void {
    gateway.isUntold = true;
    this.#exchanges.wake();
  }

  async #sync(signal: AbortSignal): Promise<void> {
    for (const gateway of [...this.#gateways.values()]) {
      if (signal.aborted) return;
      await this.#guarded(() => this.#syncHold(gateway));
      for (const [model, entry] of gateway.gates) await this.#guarded(() => this.#syncGate(gateway, model, entry));
    }
  }

  /** Ignores database errors: the local state stays in use. */
  async #guarded(work: () => Promise<void>): Promise<void> {
    await work().catch((error: unknown) => {
      this.#options.logger.warn({ err: error }, 'The limits of a gateway could not be shared with other workers');
    });
  }

  async #syncGate(gateway: Gateway, model: string, { gate, ceilings }: Entry): Promise<void> {
    const key = { gateway: gateway.id, model };
    const { database } = this.#options;
    const events = gate.takeEvents();
    try {
      const exchange = await exchangeLimit(database, key, gate.user, { events, now: this.#now() });
      for (const worker of gate.takeIn(exchange)) await leaveLimit(database, key, worker);
    } catch (error) {
      gate.putBack(events);
      throw error;
    }
    if (ceilings.size === 0 && gate.inFlight === 0 && gate.waiting === 0) await this.#forget(gateway, model);
  }

  async #forget(gateway: Gateway, model: string): Promise<void> {
    gateway.gates.delete(model);
    if (gateway.gates.size === 0) this.#gateways.delete(gateway.id);
    await leaveLimit(this.#options.database, { gateway: gateway.id, model }, this.#options.worker);
  }

  async #syncHold(gateway: Gateway): Promise<void> {
    const { breaker } = gateway;
    const known = gateway.isUntold ? await this.#publish(gateway) : await this.#readHold(gateway);
    // The state has changed here meanwhile; the next exchange shares it.
    if (known === undefined || gateway.isUntold) return;
    if (known.isHeld) breaker.hold(known);
    else if (breaker.isHeld && known.isGivenUp) breaker.giveUp();
    else if (breaker.isHeld) breaker.release();
    if (breaker.isProbeDue) await this.#probe(gateway, known);
  }

  async #readHold({ id }: Gateway): Promise<HoldState | undefined> {
    return await readHold(this.#options.database, id, this.#now());
  }

  /** Shares this worker's state with the others. */
  async #publish(gateway: Gateway): Promise<HoldState> {
    gateway.isUntold = false;
    const { isHeld } = gateway.breaker;
    try {
      const { state, isChanged } = await changeHold(this.#options.database, gateway.id, this.#now(), (now) =>
        now.isHeld === isHeld ? undefined : { isHeld, probes: 0, isGivenUp: false },
      );
      // Other workers may have found the same; the history has it once.
      if (isChanged) for (const { gate } of gateway.gates.values()) gate.note(isHeld ? 'held' : 'released');
      return state;
    } catch (error) {
      gateway.isUntold = true;
      throw error;
    }
  }

  /** Sends the next probe if no other worker has: only the one that finds the version unchanged. */
  async #probe(gateway: Gateway, known: HoldState): Promise<void> {
    const { database, hold: timing = HOLD_TIMING } = this.#options;
    const { state, isChanged } = await changeHold(database, gateway.id, this.#now(), (now) => {
      if (!now.isHeld || now.version !== known.version) return undefined;
      const isGivenUp = now.probes >= timing.probes;
      return { isHeld: !isGivenUp, probes: now.probes + 1, isGivenUp };
    });
    if (!isChanged || !gateway.breaker.isHeld || gateway.isUntold) return;
    if (state.isGivenUp) gateway.breaker.giveUp();
    else gateway.breaker.probe(state);
  }
}

interface Gateway {
  readonly id: string;
  readonly breaker: CircuitBreaker;
  /** True if a hold started or ended here and is not shared yet. */
  isUntold: boolean;
  readonly gates: Map<string, Entry>;
}

interface Entry {
  readonly gate: CallGate;
  /** Ceilings of the running attempts. */
  readonly ceilings: Map<object, number>;
}

interface Sent {
  readonly gateway: Gateway;
  readonly gate: CallGate;
  readonly place: ModelPermit;
  readonly permit: Permit;
}
