import { randomUUID } from 'node:crypto';
import { SHUTDOWN_GRACE_MS } from '../../contract/names.ts';
import { endsWithin } from '../../support/runtime/deadline.ts';
import type { HarnessAuthority } from '../server/audience.ts';
import type { Report } from '../server/cleanup.ts';
import { SessionChanges } from '../server/session/session-changes.ts';
import { MODERN_REVISION } from '../server/session/session-server.ts';
import type { Era, HostedSession, SessionHost } from '../server/session-host.ts';
import type { Child } from './child.ts';
import type { ChildPool } from './child-pool.ts';
import type { Transport } from './messages.ts';
import { type Reloaded, ReloadRelay } from './reload-relay.ts';

export interface ReloadHostOptions {
  readonly name: string;
  readonly version: string;
  readonly authority: HarnessAuthority;
  readonly report: Report;
  readonly pool: ChildPool;
  readonly callGraceMs: number;
  readonly initializeTimeoutMs: number;
  /** Milliseconds that a client waits for an environment that cannot be started. */
  readonly patienceMs: number;
}

/**
 * Opens sessions whose process can be replaced. Each session has its own child. The caller that makes a host has to
 * close it, and then the pool.
 */
export class ReloadHost implements SessionHost {
  readonly name: string;
  readonly version: string;
  readonly authority: HarnessAuthority;
  readonly report: Report;
  readonly #options: ReloadHostOptions;
  readonly #open = new Set<ReloadSession>();
  #isClosed = false;

  constructor(options: ReloadHostOptions) {
    this.name = options.name;
    this.version = options.version;
    this.authority = options.authority;
    this.report = options.report;
    this.#options = options;
  }

  openSession(era: Era, hasHandle = false): HostedSession {
    if (this.#isClosed) throw new Error('The server is closed');
    const session = new ReloadSession(era, hasHandle, this.#options);
    this.#open.add(session);
    session.onclose = () => void this.#open.delete(session);
    return session;
  }

  /** Gives every session a process with the newest version. Never rejects. */
  async reload(): Promise<Reloaded[]> {
    return Promise.all([...this.#open].map((session) => session.reload()));
  }

  /** Ends every session with its close hooks, and the waiting processes. Never rejects. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all([...this.#open].map((session) => session.close()));
    await this.#options.pool.close();
  }

  /**
   * Ends every process with its shutdown hooks. If no session is open, ends the waiting process of the newest version.
   * Never rejects.
   */
  async shutdown(): Promise<void> {
    this.#isClosed = true;
    const { pool } = this.#options;
    const children = await Promise.all([...this.#open].map((session) => session.detach()));
    const live = children.filter((child) => child !== undefined);
    const latest = live.length === 0 ? pool.release() : undefined;
    const terminated = [...live, ...(latest === undefined ? [] : [latest])].map(({ process }) => process.close());
    await Promise.all([...terminated, pool.close()]);
  }
}

class ReloadSession implements HostedSession {
  readonly id = randomUUID();
  readonly era: Era;
  readonly changes = new SessionChanges();
  onclose: (() => void) | undefined;

  readonly #handle: string | undefined;
  readonly #options: ReloadHostOptions;
  #relay: ReloadRelay | undefined;
  #closing: Promise<Child | undefined> | undefined;

  constructor(era: Era, hasHandle: boolean, options: ReloadHostOptions) {
    this.era = era;
    this.#handle = hasHandle ? this.id : undefined;
    this.#options = options;
  }

  get protocol(): string {
    return this.#relay?.memory.protocol ?? MODERN_REVISION;
  }

  get isInitialized(): boolean {
    return this.#relay?.memory.handshake !== undefined;
  }

  async connect(front: Transport): Promise<void> {
    const { pool, patienceMs, callGraceMs, initializeTimeoutMs, report } = this.#options;
    const onclose = front.onclose;
    front.onclose = () => {
      onclose?.();
      // If the session is already closing, the function that closes it also ends the process.
      if (this.#closing === undefined) void this.close();
    };
    this.#relay = new ReloadRelay(front, {
      handle: this.#handle,
      callGraceMs,
      initializeTimeoutMs,
      takeChild: () => pool.take(patienceMs),
      endChild: (child) => pool.end(child),
      onCrash: (ending) => report(`The environment ${ending}. The next request of its session starts it again.`),
      onChanged: this.era === 'modern' ? (change) => this.changes.emit(change) : undefined,
    });
    await this.#relay.start();
  }

  reload(): Promise<Reloaded> {
    return this.#relay?.reload() ?? Promise.resolve({ kind: 'none' });
  }

  async close(budgetMs: number = SHUTDOWN_GRACE_MS.environment): Promise<void> {
    const child = await this.detach();
    if (child === undefined) return;
    await endsWithin(child.process.disconnect(), budgetMs);
  }

  /** Ends the session and gives its process to the caller, who has to end it. */
  detach(): Promise<Child | undefined> {
    this.#closing ??= (async () => {
      // Wait one step so that `#closing` is set, because closing the connection calls this function again.
      await Promise.resolve();
      this.onclose?.();
      return this.#relay?.close();
    })();
    return this.#closing;
  }
}
