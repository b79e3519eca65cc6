import type { EventOf } from '../../contract/service/event.ts';
import type { EnvironmentClient } from '../../environment/client/environment-client.ts';
import { PROCTOR_VERSION } from '../../support/runtime/version.ts';

/** Versions for the trace. Those of the environment are added once it is connected. */
export function toVersions(
  client: EnvironmentClient | undefined,
  environmentHash: string | null,
): EventOf<'run.started'>['versions'] {
  return {
    proctor: PROCTOR_VERSION,
    environment: client?.version ?? null,
    environment_hash: environmentHash,
    protocol: client?.protocol ?? null,
    node: process.versions.node,
  };
}
