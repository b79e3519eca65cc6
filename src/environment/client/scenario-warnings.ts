import { z } from 'zod';
import { META, SCENARIOS_URI } from '../../contract/names.ts';
import type { CallOptions } from './environment-client.ts';
import type { McpEnvironmentClient } from './mcp-environment-client.ts';

/**
 * One sentence for each scenario with a `tools` pattern that matches no tool of the started environment. Tools of
 * connected servers and of the initialize hook count. Such a run fails, unless the setup adds the tool.
 *
 * @throws BoundaryError if the environment does not answer.
 */
export async function readScenarioWarnings(
  client: McpEnvironmentClient,
  options: CallOptions,
): Promise<readonly string[]> {
  const { _meta } = await client.request('resources/read', { uri: SCENARIOS_URI }, options);
  return warningsSchema.parse(_meta?.[META.scenarioWarnings]);
}

/** Older servers send no warnings, and agents get none. */
const warningsSchema = z.array(z.string()).catch([]);
