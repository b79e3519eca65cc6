import type { Logger } from 'pino';
import type { Models } from '../../models/gateway/create-model.ts';
import type { Database } from '../../store/database/database.ts';
import type { TraceStore } from '../../store/traces/trace-store.ts';

/** Options that the servers of all foreign protocols share. */
export interface BridgeServerOptions {
  /** Name of a taskset. Its tasks replace those that the scenarios declare. */
  readonly taskset?: string | undefined;
  readonly database: Database;
  readonly store: TraceStore;
  /** Models that judge evaluations. */
  readonly models: Pick<Models, 'create' | 'harness'>;
  readonly logger: Logger;
  readonly host: string;
  /** Port to listen on. 0 takes any free one. */
  readonly port: number;
  /** Key that every request and socket has to send as a bearer token; an ORS client may send it as `X-API-Key`. */
  readonly apiKey?: string | undefined;
  readonly allowedHosts?: readonly string[] | undefined;
  /** Folder that contains the tasksets. */
  readonly directory: string;
  /** Most sessions that may be open at a time. Default 1,000. */
  readonly maxSessions?: number | undefined;
  /** Milliseconds without a message of its client after which a session ends. Default 15 minutes. */
  readonly sessionTtlMs?: number | undefined;
  readonly hosts?: number | undefined;
  readonly startTimeoutMs?: number | undefined;
  readonly shutdownGraceMs?: number | undefined;
}
