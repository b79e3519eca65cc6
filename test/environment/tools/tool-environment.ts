import { EnvironmentServer } from '../../../src/environment/authoring/environment-server.ts';
import type { ToolSet } from '../../../src/environment/authoring/tool-set.ts';
import { type OpenEnvironment, openEnvironment } from '../../../src/evaluation/testing/open-environment.ts';

/** Opens an environment that has these tools. */
export async function withTools(...sets: readonly ToolSet[]): Promise<OpenEnvironment> {
  return await openEnvironment(() => {
    const env = new EnvironmentServer({ name: 'tools', version: '1.0.0' });
    for (const set of sets) set.addTo(env);
    return env;
  });
}
