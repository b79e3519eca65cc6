import type { Transport } from '@modelcontextprotocol/server';
import type { HarnessAuthority } from './audience.ts';
import type { Report } from './cleanup.ts';
import type { SessionChanges } from './session/session-changes.ts';

/** Session-based revisions begin with `initialize`; 2026-07-28 has no handshake. */
export type Era = 'legacy' | 'modern';

/** Makes the sessions that a transport carries. Its creator closes it. */
export interface SessionHost {
  /** Name of the environment. */
  readonly name: string;
  readonly version: string;
  readonly authority: HarnessAuthority;
  readonly report: Report;
  /**
   * `hasHandle`: the client has to name the session in each request, so that `setup` answers its id.
   *
   * @throws Error after closing; what the author's constructor or factory throws.
   */
  openSession(era: Era, hasHandle?: boolean): HostedSession;
  /** Ends every session within the budget (milliseconds). Never rejects. */
  close(budgetMs: number): Promise<void>;
  /** Handles SIGTERM: ends every session, then runs shutdown hooks, within the budget (milliseconds). Never rejects. */
  shutdown(budgetMs: number): Promise<void>;
}

/** One session, whatever serves it. Its cap, expiry and transport are the affair of whoever opened it, who also closes it. */
export interface HostedSession {
  /** Unguessable; the name of the session on the wire. */
  readonly id: string;
  readonly era: Era;
  /** The revision that was agreed on. */
  readonly protocol: string;
  readonly isInitialized: boolean;
  /** Changes of the session, for the code that notifies its clients. */
  readonly changes: SessionChanges;
  /** Called once, when the session has ended for whatever reason, before its cleanup. */
  onclose: (() => void) | undefined;
  /** Serves it on a transport that nothing has started yet. Called once. */
  connect(transport: Transport): Promise<void>;
  /** Ends it within the budget (milliseconds). Never rejects; later calls wait for the first. */
  close(budgetMs?: number): Promise<void>;
}
