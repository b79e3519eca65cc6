import { randomUUID } from 'node:crypto';
import { SHUTDOWN_GRACE_MS } from '../contract/names.ts';
import type { HarnessAuthority } from '../mcp/audience.ts';
import type { Report } from '../mcp/cleanup.ts';
import { SessionChanges } from '../mcp/session/session-changes.ts';
import { MODERN_REVISION } from '../mcp/session/session-server.ts';
import type { Era, HostedSession, SessionHost } from '../mcp/session-host.ts';
import { endsWithin } from '../runtime/deadline.ts';
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
  /** How long a client waits for an environment that cannot be started. */
  readonly patienceMs: number;
}

/** Makes sessions whose process can be replaced: a child for each. Whoever made it closes it, and then the pool. */
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

  /** Gives every session a process of the newest version. Never rejects. */
  async reload(): Promise<Reloaded[]> {
    return Promise.all([...this.#open].map((session) => session.reload()));
  }

  /** Ends every session and what waits, with their close hooks. Never rejects. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all([...this.#open].map((session) => session.close()));
    await this.#options.pool.close();
  }

  /** Ends every process with its shutdown hooks; where no session is open, that of the newest version. Never rejects. */
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
      // Where the session ends by itself, its process is the affair of whoever ends it.
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

  /** Ends the session; its process is the caller's to end. */
  detach(): Promise<Child | undefined> {
    this.#closing ??= (async () => {
      // By now `#closing` has to be set: closing the connection calls this again.
      await Promise.resolve();
      this.onclose?.();
      return this.#relay?.close();
    })();
    return this.#closing;
  }
}
