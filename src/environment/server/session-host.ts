import type { Transport } from '@modelcontextprotocol/server';
import type { HarnessAuthority } from './audience.ts';
import type { Report } from './cleanup.ts';
import type { SessionChanges } from './session/session-changes.ts';

/**
 * The protocol era: `legacy` revisions have sessions that begin with `initialize`; `modern` is 2026-07-28, without a
 * handshake.
 */
export type Era = 'legacy' | 'modern';

/** Makes the sessions of a transport. The caller that creates a host has to close it. */
export interface SessionHost {
  /** Name of the environment. */
  readonly name: string;
  readonly version: string;
  readonly authority: HarnessAuthority;
  readonly report: Report;
  /**
   * Opens a session. `hasHandle` is true if the client has to send the session id with each request; then the result of
   * `setup` contains it.
   *
   * @throws Error after closing; any error of the author's constructor or factory.
   */
  openSession(era: Era, hasHandle?: boolean): HostedSession;
  /** Ends every session within the limit in milliseconds. Never rejects. */
  close(budgetMs: number): Promise<void>;
  /**
   * Handles SIGTERM: ends every session, then runs the shutdown hooks, within the limit in milliseconds. Never rejects.
   */
  shutdown(budgetMs: number): Promise<void>;
}

/** One session. Its opener limits the number of sessions, expires it, gives it a transport, and has to close it. */
export interface HostedSession {
  /** The random id of the session that clients send. */
  readonly id: string;
  readonly era: Era;
  /** The protocol revision in use. */
  readonly protocol: string;
  readonly isInitialized: boolean;
  /** Changes in the session, for the code that notifies clients. */
  readonly changes: SessionChanges;
  /** Called once when the session has ended for any reason, before its cleanup. */
  onclose: (() => void) | undefined;
  /** Serves the session on a transport that is not started yet. Call it once. */
  connect(transport: Transport): Promise<void>;
  /** Ends the session within the limit in milliseconds. Never rejects; later calls wait for the first. */
  close(budgetMs?: number): Promise<void>;
}
