import type { Transport } from '@modelcontextprotocol/server';
import { SHUTDOWN_GRACE_MS } from '../../contract/names.ts';
import type { EnvironmentSource } from '../authoring/environment-source.ts';
import { type Report, reportToStderr } from './cleanup.ts';
import { EnvironmentHost, type HostOptions } from './environment-host.ts';
import { createLinkedTransports } from './linked-transports.ts';
import { serveConnection } from './serve-connection.ts';

export interface InMemoryOptions {
  /**
   * The harness key. Without it, a peer that declares itself a harness counts as one, because it is in this process.
   */
  readonly harnessKey?: string;
  /** Receives errors that no client gets. Default: writes to standard error. */
  readonly report?: Report;
  /** The engines of sandboxes. Default: those of the session, by `PROCTOR_SANDBOX`. */
  readonly engines?: HostOptions['engines'];
}

export interface InMemoryEnvironment {
  /** The client's end of the connection. It supports both protocol eras. */
  readonly clientTransport: Transport;
  /** Ends the session with its generators and close hooks, without shutdown hooks. Never rejects. */
  close(): Promise<void>;
}

/** An environment in the client's own process, as a target to connect to. */
export interface InMemoryTarget {
  readonly kind: 'memory';
  /**
   * Starts a new session.
   * @throws TypeError if it is not an environment; any error of the author's constructor or factory.
   */
  open(report: Report): InMemoryEnvironment;
}

/**
 * Makes the target of an environment in this process, for `connectEnvironment` and lists of environments. For trusted
 * environments and tests.
 *
 * @param environment is a class, a factory, or an instance, whose state all sessions share.
 *
 * @example
 * ```ts
 * const client = await connectEnvironment(inMemory(Counter));
 * ```
 */
export function inMemory(environment: EnvironmentSource): InMemoryTarget {
  return { kind: 'memory', open: (report) => openInMemory(environment, { report }) };
}

/**
 * Serves one session of an environment in this process. Messages are copied as JSON, as on a wire, so that the two
 * sides share no objects.
 *
 * @throws TypeError if it is not an environment; any error of the author's constructor or factory.
 */
export function openInMemory(environment: EnvironmentSource, options: InMemoryOptions = {}): InMemoryEnvironment {
  const report = options.report ?? reportToStderr;
  const authority = { harnessKey: options.harnessKey, isPeerTrusted: true };
  const host = new EnvironmentHost(environment, { authority, report, engines: options.engines });
  const [clientTransport, serverTransport] = createLinkedTransports();
  const connection = serveConnection(host, serverTransport);
  return {
    clientTransport,
    async close() {
      await connection.close();
      await host.close(SHUTDOWN_GRACE_MS.environment);
    },
  };
}
