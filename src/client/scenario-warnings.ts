import { z } from 'zod';
import { META, SCENARIOS_URI } from '../contract/names.ts';
import type { CallOptions } from './environment-client.ts';
import type { McpEnvironmentClient } from './mcp-environment-client.ts';

/**
 * A sentence for each scenario whose `tools` pattern fits no tool of an environment that has started, the tools of its
 * connected servers and of its initialize hook included. Such a run fails, unless the setup adds the tool.
 *
 * @throws BoundaryError where the environment does not answer.
 */
export async function readScenarioWarnings(
  client: McpEnvironmentClient,
  options: CallOptions,
): Promise<readonly string[]> {
  const { _meta } = await client.request('resources/read', { uri: SCENARIOS_URI }, options);
  return warningsSchema.parse(_meta?.[META.scenarioWarnings]);
}

/** Servers of older versions, and agents, are told none. */
const warningsSchema = z.array(z.string()).catch([]);
