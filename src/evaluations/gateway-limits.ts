import type { Logger } from 'pino';
import type { Database } from '../database/database.ts';
import { CallGate, type Place } from './call-gate.ts';
import { GatewayHold, HOLD_TIMING, type HoldTiming, type Passage } from './gateway-hold.ts';
import { changeHold, type HoldState, readHold } from './hold-rows.ts';
import { exchangeLimit, type LimitKey, leaveLimit } from './limit-rows.ts';

export interface GatewayLimitsOptions {
  readonly database: Database;
  /** Name of the worker. */
  readonly worker: string;
  readonly logger: Pick<Logger, 'warn'>;
  readonly hold?: HoldTiming | undefined;
  /** Milliseconds between two looks at what the other workers found out. Default 1,000. */
  readonly syncMs?: number | undefined;
  /** Milliseconds since 1970. */
  readonly now?: (() => number) | undefined;
}

/** A try on its way. Its holder says how it went, and leaves it in any case. */
export interface Try {
  /** Whether its call waited until its gateway was back. */
  readonly wasHeld: boolean;
  succeeded(): void;
  /** The gateway says that there are too many. */
  refused(retryAfterMs: number | undefined): void;
  /** The gateway answered something else, such as that it does not know the model. */
  answered(): void;
  /** The gateway is away, or in trouble. @returns whether it is held: then its calls wait, and no try counts. */
  failed(): boolean;
  /** Later calls do nothing. */
  leave(): void;
}

/** The calls of one model by one attempt. */
export interface Lane {
  /** Waits for a place. @throws BoundaryError boundary `model` where the gateway is given up; the reason of the signal. */
  enter(signal: AbortSignal): Promise<Try>;
  /** How many calls its evaluation allows. */
  setCeiling(ceiling: number): void;
  /** Its attempt is over. */
  close(): void;
}

const SYNC_MS = 1_000;

/**
 * How many calls of each model this worker makes at once (contract section 7, "Concurrency"). What it finds out it tells the
 * other workers of the database at once where that is bad news, else once a second. Whoever made it closes it.
 */
export class GatewayLimits {
  readonly #options: GatewayLimitsOptions;
  readonly #gateways = new Map<string, Gateway>();
  readonly #now: () => number;
  readonly #timer: NodeJS.Timeout;
  #syncing: Promise<void> = Promise.resolve();
  #isSyncing = false;
  #isWoken = false;
  #isClosed = false;

  constructor(options: GatewayLimitsOptions) {
    this.#options = options;
    this.#now = options.now ?? Date.now;
    this.#timer = setInterval(() => this.#wake(), options.syncMs ?? SYNC_MS);
    this.#timer.unref();
  }

  /** @param ceiling the most calls that its evaluation allows. */
  open({ gateway: id, model }: LimitKey, ceiling: number): Lane {
    const gateway = this.#gateways.get(id) ?? {
      id,
      hold: new GatewayHold(this.#options.hold ?? HOLD_TIMING),
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
    if (known === undefined) this.#wake();
    return {
      enter: (signal) => this.#enter(gateway, entry.gate, signal),
      setCeiling,
      close: () => {
        entry.ceilings.delete(lane);
        if (entry.ceilings.size > 0) entry.gate.setCeiling(Math.max(...entry.ceilings.values()));
      },
    };
  }

  /** Leaves what it shares with the other workers. Never rejects. */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    clearInterval(this.#timer);
    await this.#syncing;
    for (const gateway of this.#gateways.values()) {
      for (const model of gateway.gates.keys()) await this.#forget(gateway, model).catch(() => {});
    }
  }

  async #enter(gateway: Gateway, gate: CallGate, signal: AbortSignal): Promise<Try> {
    let wasHeld = false;
    for (;;) {
      const passage = await gateway.hold.pass(signal);
      wasHeld ||= passage.wasHeld;
      const place = await gate.enter(signal);
      if (!gateway.hold.isHeld || passage.isProbe) return this.#begin({ gateway, gate, place, passage }, wasHeld);
      place.leave();
    }
  }

  #begin({ gateway, gate, place, passage }: Sent, wasHeld: boolean): Try {
    const answered = () => {
      if (gateway.hold.answered(passage)) this.#tell(gateway);
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
        this.#wake();
      },
      failed: () => {
        gate.note('server_error');
        if (gateway.hold.failed()) this.#tell(gateway);
        return gateway.hold.isHeld;
      },
      leave: place.leave,
    };
  }

  #tell(gateway: Gateway): void {
    gateway.isUntold = true;
    this.#wake();
  }

  /** One exchange with the database at a time; a call during it makes another one. */
  #wake(): void {
    if (this.#isClosed) return;
    this.#isWoken = true;
    if (this.#isSyncing) return;
    this.#isSyncing = true;
    this.#syncing = this.#syncWhileWoken().finally(() => {
      this.#isSyncing = false;
    });
  }

  async #syncWhileWoken(): Promise<void> {
    while (this.#isWoken && !this.#isClosed) {
      this.#isWoken = false;
      for (const gateway of [...this.#gateways.values()]) {
        await this.#guarded(() => this.#syncHold(gateway));
        for (const [model, entry] of gateway.gates) await this.#guarded(() => this.#syncGate(gateway, model, entry));
      }
    }
  }

  /** A database that is away is no reason to stop: what is known here holds on. */
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
    const { hold } = gateway;
    const known = gateway.isUntold ? await this.#publish(gateway) : await this.#readHold(gateway);
    // It has changed here meanwhile: that is told the next time.
    if (known === undefined || gateway.isUntold) return;
    if (known.isHeld) hold.hold(known);
    else if (hold.isHeld && known.isGivenUp) hold.giveUp();
    else if (hold.isHeld) hold.release();
    if (hold.isProbeDue) await this.#probe(gateway, known);
  }

  async #readHold({ id }: Gateway): Promise<HoldState | undefined> {
    return await readHold(this.#options.database, id, this.#now());
  }

  /** Tells the other workers what this one has found out. */
  async #publish(gateway: Gateway): Promise<HoldState> {
    gateway.isUntold = false;
    const { isHeld } = gateway.hold;
    try {
      const { state, isChanged } = await changeHold(this.#options.database, gateway.id, this.#now(), (now) =>
        now.isHeld === isHeld ? undefined : { isHeld, probes: 0, isGivenUp: false },
      );
      // Others may have found it out too: the history has it once.
      if (isChanged) for (const { gate } of gateway.gates.values()) gate.note(isHeld ? 'held' : 'released');
      return state;
    } catch (error) {
      gateway.isUntold = true;
      throw error;
    }
  }

  /** Of all workers one sends the next probe: the one that finds the version as it knows it. */
  async #probe(gateway: Gateway, known: HoldState): Promise<void> {
    const { database, hold: timing = HOLD_TIMING } = this.#options;
    const { state, isChanged } = await changeHold(database, gateway.id, this.#now(), (now) => {
      if (!now.isHeld || now.version !== known.version) return undefined;
      const isGivenUp = now.probes >= timing.probes;
      return { isHeld: !isGivenUp, probes: now.probes + 1, isGivenUp };
    });
    if (!isChanged || !gateway.hold.isHeld || gateway.isUntold) return;
    if (state.isGivenUp) gateway.hold.giveUp();
    else gateway.hold.probe(state);
  }
}

interface Gateway {
  readonly id: string;
  readonly hold: GatewayHold;
  /** Whether it was held or released here, and the other workers do not know it yet. */
  isUntold: boolean;
  readonly gates: Map<string, Entry>;
}

interface Entry {
  readonly gate: CallGate;
  /** Those of the attempts that go on. */
  readonly ceilings: Map<object, number>;
}

interface Sent {
  readonly gateway: Gateway;
  readonly gate: CallGate;
  readonly place: Place;
  readonly passage: Passage;
}
