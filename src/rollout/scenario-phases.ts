import type { AgentToolEntry, EnvironmentClient } from '../client/environment-client.ts';
import { BoundaryError, messageOf } from '../contract/errors.ts';
import type { Json, JsonObject, JsonSchema } from '../contract/json.ts';
import { validateJsonSchema } from '../contract/json-schema.ts';
import type { Evaluation, SetupResult } from '../contract/scenario.ts';
import { withLimit } from './limits.ts';

export interface ScenarioPhase {
  readonly client: EnvironmentClient;
  readonly scenario: string;
  readonly signal: AbortSignal;
  readonly limitMs: number;
}

/**
 * The scenario's first half, and what an agent may call then.
 *
 * @throws BoundaryError boundary `setup` or `environment`; the reason of the signal.
 */
export async function setUpScenario(
  phase: ScenarioPhase,
  args: JsonObject,
): Promise<{ readonly setup: SetupResult; readonly tools: readonly AgentToolEntry[] }> {
  const { client, scenario } = phase;
  return await limited(phase, 'setup', async (signal) => {
    const setup = await client.setup(scenario, args, { signal, timeoutMs: 0 });
    if (setup.answer_schema !== null) checkAnswerSchema(scenario, setup.answer_schema);
    return { setup, tools: await client.tools({ patterns: setup.tools, signal, timeoutMs: 0 }) };
  });
}

/**
 * The scenario's second half.
 *
 * @throws BoundaryError boundary `evaluate` or `environment`; the reason of the signal.
 */
export async function evaluateAnswer(phase: ScenarioPhase, answer: Json): Promise<Evaluation> {
  const { client, scenario } = phase;
  return await limited(phase, 'evaluate', (signal) => client.evaluate(scenario, answer, { signal, timeoutMs: 0 }));
}

/** The limit is ours alone: `timeoutMs: 0` turns the client's own off. */
async function limited<T>(
  { scenario, signal, limitMs }: ScenarioPhase,
  boundary: 'setup' | 'evaluate',
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const half = boundary === 'setup' ? 'setup' : 'evaluation';
  const toError = (time: string) =>
    new BoundaryError(boundary, 'environment_failed', `The ${half} of scenario ${scenario} did not end within ${time}`);
  try {
    return await withLimit({ signal, limitMs, toError }, work);
  } catch (thrown) {
    if (signal.aborted) throw signal.reason;
    if (thrown instanceof BoundaryError) throw thrown;
    const message = `The ${half} of scenario ${scenario} failed: ${messageOf(thrown)}`;
    throw new BoundaryError(boundary, 'environment_failed', message, { cause: thrown });
  }
}

/** A schema that cannot be used shows now, not when the work is done. */
function checkAnswerSchema(scenario: string, schema: JsonSchema): void {
  try {
    validateJsonSchema(schema, null);
  } catch (error) {
    const message = `The answer schema of scenario ${scenario} cannot be used: ${messageOf(error)}`;
    throw new BoundaryError('setup', 'environment_failed', message, { cause: error });
  }
}
