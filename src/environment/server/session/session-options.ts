import type { EnvironmentDefinition } from '../../authoring/definition.ts';
import type { SandboxEngines } from '../../sandbox/open-engine.ts';
import type { HarnessAuthority } from '../audience.ts';
import type { Report } from '../cleanup.ts';
import type { Era } from '../session-host.ts';
import type { ConnectedSource } from './connected-source.ts';

export interface SessionOptions {
  readonly id: string;
  readonly era: Era;
  readonly definition: EnvironmentDefinition;
  readonly authority: HarnessAuthority;
  readonly report: Report;
  /** True if the client has to send the session id with each request. The result of `setup` then contains it. */
  readonly hasHandle?: boolean;
  /** Connects to a server in this process that is part of the environment. */
  readonly openServer: (server: unknown) => Promise<ConnectedSource>;
  /** The engines of this process, for sandboxes. */
  readonly engines: () => Promise<SandboxEngines>;
}
