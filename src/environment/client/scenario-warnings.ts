import { z } from 'zod';
import { BoundaryError } from '../../contract/errors.ts';
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

/** Milliseconds for an engine of sandboxes to answer: more than the half minute after which it counts as away. */
const ENGINE_CHECK_MS = 40_000;

/**
 * Checks that the environment can make its sandboxes. It asks only those that have some.
 *
 * @throws BoundaryError that says why not, and the way out.
 */
export async function checkSandboxes(client: McpEnvironmentClient, { signal }: CallOptions = {}): Promise<void> {
  if (!client.hasSandboxes) return;
  const params = { uri: SCENARIOS_URI, _meta: { [META.sandboxes]: true } };
  const { _meta } = await client.request('resources/read', params, {
    ...(signal && { signal }),
    timeoutMs: ENGINE_CHECK_MS,
  });
  const problem = _meta?.[META.sandboxProblem];
  if (typeof problem !== 'string') return;
  throw new BoundaryError(
    'environment',
    'environment_failed',
    `The environment ${JSON.stringify(client.name)}: ${problem}`,
  );
}

/** Older servers send no warnings, and agents get none. */
const warningsSchema = z.array(z.string()).catch([]);
