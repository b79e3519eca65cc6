import type { Logger } from 'pino';
import type { Database } from '../database/database.ts';
import type { Models } from '../model/create-model.ts';
import type { TraceStore } from '../trace/trace-store.ts';

/** Options of every server of a protocol of others. */
export interface BridgeServerOptions {
  /** Name of a taskset whose tasks stand in for those that scenarios declare. */
  readonly taskset?: string | undefined;
  readonly database: Database;
  readonly store: TraceStore;
  /** Judges for evaluations. */
  readonly models: Pick<Models, 'create' | 'harness'>;
  readonly logger: Logger;
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  /** Asked of every request and socket where it is set, as a bearer token; of ORS as `X-API-Key` too. */
  readonly apiKey?: string | undefined;
  readonly allowedHosts?: readonly string[] | undefined;
  /** Folder in which tasksets are looked for. */
  readonly directory: string;
  /** Open at a time. Default 1,000. */
  readonly maxSessions?: number | undefined;
  /** Milliseconds without a sign of its client after which a session is ended. Default 15 minutes. */
  readonly sessionTtlMs?: number | undefined;
  readonly hosts?: number | undefined;
  readonly startTimeoutMs?: number | undefined;
  readonly shutdownGraceMs?: number | undefined;
}
