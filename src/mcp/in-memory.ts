import type { Transport } from '@modelcontextprotocol/server';
import { SHUTDOWN_GRACE_MS } from '../contract/names.ts';
import type { EnvironmentSource } from '../environment/environment-source.ts';
import { type Report, reportToStderr } from './cleanup.ts';
import { EnvironmentHost } from './environment-host.ts';
import { createLinkedTransports } from './linked-transports.ts';
import { serveConnection } from './serve-connection.ts';

export interface InMemoryOptions {
  /** Without one, a peer that declares itself a harness is one: it is in this process. */
  readonly harnessKey?: string;
  /** Takes what goes wrong and reaches no client. Default: standard error. */
  readonly report?: Report;
}

export interface InMemoryEnvironment {
  /** The client's end, of either era. */
  readonly clientTransport: Transport;
  /** Ends the session: generators and close hooks, never shutdown hooks. Never rejects. */
  close(): Promise<void>;
}

/** How a client reaches an environment in its own process. */
export interface InMemoryTarget {
  readonly kind: 'memory';
  /**
   * Starts a session of its own.
   * @throws TypeError for what is not an environment; what the author's constructor or factory throws.
   */
  open(report: Report): InMemoryEnvironment;
}

/**
 * The target of an environment in this process, for `connectEnvironment` and every list of environments. For trusted
 * environments and tests.
 *
 * @param environment a class, a factory, or an instance, whose state all sessions share.
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
 * Serves one session of an environment in this process. What crosses is copied as JSON, as on a wire, so that neither
 * side holds the other's objects.
 *
 * @throws TypeError for what is not an environment; what the author's constructor or factory throws.
 */
export function openInMemory(environment: EnvironmentSource, options: InMemoryOptions = {}): InMemoryEnvironment {
  const report = options.report ?? reportToStderr;
  const authority = { harnessKey: options.harnessKey, isPeerTrusted: true };
  const host = new EnvironmentHost(environment, { authority, report });
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
