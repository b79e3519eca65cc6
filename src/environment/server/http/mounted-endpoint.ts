import type { IncomingMessage, ServerResponse } from 'node:http';
import type { EnvironmentSource } from '../../authoring/environment-source.ts';
import type { Report } from '../cleanup.ts';
import { EnvironmentHost } from '../environment-host.ts';
import { serveEndpoint } from './endpoint.ts';
import { refuseFailed } from './send-refusal.ts';
import { Sessions } from './sessions.ts';

export interface MountOptions {
  readonly report: Report;
  readonly maxSessions: number;
  /** Milliseconds without activity after which a session ends. */
  readonly idleTimeoutMs: number;
  readonly maxBodyBytes: number;
}

/** An MCP endpoint for agents inside another HTTP server. The caller that mounts it has to close it. */
export interface MountedEndpoint {
  /**
   * Answers a request whose Host, Origin and key were checked already. `caller` is the owner of its sessions. Never
   * rejects.
   */
  handle(request: IncomingMessage, response: ServerResponse, caller: string): Promise<void>;
  /** Ends every session within the limit in milliseconds. Never rejects. */
  close(budgetMs: number): Promise<void>;
}

/** @throws TypeError if it is not an environment. */
export function mountEndpoint(environment: EnvironmentSource, options: MountOptions): MountedEndpoint {
  const { report, maxSessions, idleTimeoutMs, maxBodyBytes } = options;
  const authority = { harnessKey: undefined, isPeerTrusted: false };
  const host = new EnvironmentHost(environment, { authority, report });
  const sessions = new Sessions(host, { maxSessions, idleTimeoutMs });
  return {
    async handle(request, response, caller) {
      try {
        await serveEndpoint(request, response, caller, { sessions, authority, maxBodyBytes });
      } catch (error) {
        refuseFailed(request, response, error, report);
      }
    },
    async close(budgetMs) {
      sessions.stop();
      await host.close(budgetMs);
    },
  };
}
