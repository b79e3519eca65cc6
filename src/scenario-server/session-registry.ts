import { randomBytes } from 'node:crypto';
import type { Logger } from 'pino';
import type { EnvironmentClient } from '../client/environment-client.ts';
import type { WarmConnectOptions } from '../client/warm-pool.ts';
import { ApiError } from '../contract/errors.ts';
import type { JsonObject } from '../contract/json.ts';
import type { Models } from '../model/create-model.ts';
import { ChatSession } from '../rollout/chat-session.ts';
import type { RolloutLimits } from '../rollout/limits.ts';
import { failedByWorker } from '../rollout/run-endings.ts';
import { createRecorder } from '../trace/event-recorder.ts';
import type { TraceStore } from '../trace/trace-store.ts';
import { LiveDeltas } from '../trace-routes/live-deltas.ts';
import { AccountSessions } from './account-sessions.ts';
import type { FoundScenario } from './scenarios.ts';
import { type SessionRecords, toRecord } from './session-records.ts';

export interface SessionRegistryOptions {
  readonly store: TraceStore;
  readonly records: SessionRecords;
  readonly models: Models;
  readonly logger: Logger;
  /** Id of this server, for traces. */
  readonly serverId: string;
  /** A fresh environment of the code with this hash (`hashOf`). */
  connect(environment: string, options: WarmConnectOptions): Promise<EnvironmentClient>;
  /** SHA-256 of the environment's code, hex; null where it is not known. */
  hashOf(environment: string): Promise<string | null>;
  /** Active ones. */
  readonly maxSessions: number;
  /** Milliseconds since the end of the last turn after which a session expires. */
  readonly sessionTtlMs: number;
  readonly limits?: Partial<RolloutLimits> | undefined;
  readonly now: () => number;
}

export interface NewSession {
  /** Account of the session. */
  readonly account: string;
  readonly scenario: FoundScenario;
  readonly args: JsonObject;
  readonly model: string;
  readonly maxSteps: number;
  /** Sampling fields of the first turn, for the trace. */
  readonly sampling: JsonObject;
}

/** Account of the traces of all chat sessions (contract section 3). */
const TRACE_ACCOUNT = 'local';

/** Every session of a scenario server: the active ones with their expiry, and what is left of those that have ended. */
export class SessionRegistry {
  /** Text of models as it streams, for pages that follow a session. */
  readonly deltas = new LiveDeltas();
  readonly #options: SessionRegistryOptions;
  readonly #active = new Map<string, ChatSession>();
  readonly #timers = new Map<ChatSession, NodeJS.Timeout>();
  /** Environments of ended sessions, on their way out. */
  readonly #closing = new Set<Promise<void>>();
  /** Sessions whose first row is being written: they count already. */
  #starting = 0;
  #closed: ApiError | undefined;

  readonly #beat: NodeJS.Timeout;
  #watch: NodeJS.Timeout | undefined;

  constructor(options: SessionRegistryOptions) {
    this.#options = options;
    this.#beat = setInterval(() => {
      if (this.#active.size > 0) options.records.beat().catch((error) => this.#report(error, 'A sign of life'));
    }, BEAT_MS).unref();
  }

  /** The sessions of one account. */
  of(account: string): AccountSessions {
    return new AccountSessions(account, this.#active, this.#options.records);
  }

  /**
   * Makes a session and its trace. Its first turn, which has to follow, sets it up.
   *
   * @throws ApiError capacity_exceeded, or shutting_down once the registry was closed.
   */
  async create({ account, scenario, args, model, maxSteps, sampling }: NewSession): Promise<ChatSession> {
    const { maxSessions, store, records, now } = this.#options;
    if (this.#active.size + this.#starting >= maxSessions) throw atCapacity(maxSessions);
    if (this.#closed !== undefined) throw this.#closed;
    const { environment, entry } = scenario;
    this.#starting += 1;
    try {
      const environmentHash = await this.#options.hashOf(environment);
      const traceId = randomBytes(16).toString('hex');
      const session = new ChatSession({
        id: `sess_${randomBytes(16).toString('hex')}`,
        traceId,
        account,
        environment,
        scenario: entry.short_name,
        listedName: entry.name,
        args,
        model,
        maxSteps,
        connect: (options) => this.#options.connect(environment, { ...options, codeHash: environmentHash }),
        createModel: (name, context) => this.#options.models.create(name, context),
        recorder: createRecorder(store, traceId, 1),
        server: this.#options.serverId,
        environmentHash,
        limits: this.#options.limits,
        redactor: store.redactor,
        onEnded: (ended) => this.#keep(ended),
        now,
      });
      const queued = {
        origin: 'chat',
        env_name: environment,
        scenario_name: entry.short_name,
        scenario_args: args,
        model,
        max_steps: maxSteps,
        timeout_seconds: Math.ceil(this.#options.sessionTtlMs / 1_000),
        seed: null,
        sampling,
        metadata: { session_id: session.id },
        priority: 0,
      } as const;
      await store.create({ traceId, account: TRACE_ACCOUNT, queued }, (transaction) =>
        records.insert(toRecord(session), transaction),
      );
      this.#active.set(session.id, session);
      // It was closed while the session was written: nobody else would end it.
      if (this.#closed !== undefined) {
        await session.fail(this.#closed);
        throw this.#closed;
      }
      return session;
    } finally {
      this.#starting -= 1;
    }
  }

  /** Starts the clock of a session anew: call it at the end of each turn. */
  touch(session: ChatSession): void {
    clearTimeout(this.#timers.get(session));
    if (session.status !== 'active') {
      this.#timers.delete(session);
      return;
    }
    const timer = setTimeout(() => this.#expire(session), this.#options.sessionTtlMs);
    timer.unref();
    this.#timers.set(session, timer);
  }

  /** Makes `failed` what an earlier server left active: its environments are gone. @returns how many. */
  async failOrphans(): Promise<number> {
    const { records, store } = this.#options;
    const orphans = await records.listOrphans();
    for (const orphan of orphans) {
      const message = 'The server that held the session ended; its environment is gone';
      const row = await store.row(orphan.traceId);
      const isOpen = row?.status === 'queued' || row?.status === 'running';
      if (row !== undefined && isOpen) await store.append(orphan.traceId, row.attempt, [failedByWorker(message)]);
      const trace = await store.trace(orphan.traceId);
      const { turns, steps } = { turns: trace?.turns.length ?? 0, steps: trace?.steps.length ?? 0 };
      await records.end(orphan.id, { ...orphan, status: 'failed', message, turns, steps });
    }
    return orphans.length;
  }

  /** Fails those of servers that go away from now on, until the registry is closed. */
  watchOrphans(): void {
    this.#watch ??= setInterval(() => {
      this.failOrphans().catch((error) => this.#report(error, 'The end of a session whose server is gone'));
    }, WATCH_MS).unref();
  }

  /** Lets turns and evaluations that go on end within `graceMs`; then everything that is active fails. Never rejects. */
  async close(graceMs: number): Promise<void> {
    const cause = new ApiError('shutting_down', 'The server was shut down', { headers: { 'retry-after': '5' } });
    this.#closed = cause;
    clearInterval(this.#watch);
    for (const timer of this.#timers.values()) clearTimeout(timer);
    const endsAt = performance.now() + graceMs;
    const active = () => [...this.#active.values()];
    const idle = active().filter(({ isBusy }) => !isBusy);
    await Promise.all(idle.map((session) => session.fail(cause)));
    while (active().some(({ isBusy }) => isBusy) && performance.now() < endsAt) await pause(POLL_MS);
    await Promise.all(active().map((session) => session.terminate(cause)));
    clearInterval(this.#beat);
    await Promise.all(this.#closing);
  }

  #report(error: unknown, what: string): void {
    this.#options.logger.error({ err: error }, `${what} could not be written`);
  }

  #expire(session: ChatSession): void {
    this.#timers.delete(session);
    if (session.isBusy) return; // The end of the turn sets it anew.
    void session.expire();
  }

  async #keep(session: ChatSession): Promise<void> {
    clearTimeout(this.#timers.get(session));
    this.#timers.delete(session);
    const closing = session.closed.finally(() => this.#closing.delete(closing));
    this.#closing.add(closing);
    try {
      await this.#options.records.end(session.id, toRecord(session));
    } catch (error) {
      this.#report(error, `The end of session ${session.id}`);
    } finally {
      this.#active.delete(session.id);
    }
  }
}

const POLL_MS = 20;
/** How often a server says that it is there, and looks for those that are not. */
const BEAT_MS = 15_000;
const WATCH_MS = 30_000;

function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}

function atCapacity(maxSessions: number): ApiError {
  return new ApiError(
    'capacity_exceeded',
    `The server holds ${maxSessions === 1 ? '1 session' : `${maxSessions} sessions`}, which is its limit: finish or delete some, or start it with a higher --max-sessions.`,
    { headers: { 'retry-after': '10' } },
  );
}
