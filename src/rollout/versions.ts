import type { EnvironmentClient } from '../client/environment-client.ts';
import type { EventOf } from '../contract/event.ts';
import { PROCTOR_VERSION } from '../runtime/version.ts';

/** Versions for the trace; those of the environment once it is connected. */
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
