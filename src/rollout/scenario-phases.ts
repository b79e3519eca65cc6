import type { AgentToolEntry, EnvironmentClient, UserMessage } from '../client/environment-client.ts';
import { BoundaryError, messageOf } from '../contract/errors.ts';
import type { Json, JsonObject, JsonSchema } from '../contract/json.ts';
import { META } from '../contract/names.ts';
import type { Evaluation, SetupResult } from '../contract/scenario.ts';
import { withDeadline } from '../runtime/deadline.ts';
import { validateJsonSchema } from '../schema/json-schema.ts';
import { addEvaluation, during, startMcpSpan } from '../telemetry/spans.ts';
import type { TraceSpan } from '../telemetry/trace-span.ts';
import type { TurnRecorder } from '../trace/event-recorder.ts';

export interface ScenarioPhase {
  readonly client: EnvironmentClient;
  readonly scenario: string;
  readonly signal: AbortSignal;
  readonly limitMs: number;
  /** Span of the run or the turn. */
  readonly span: TraceSpan;
}

export interface SubmittedAnswer {
  readonly answer: Json;
  /** False: it is not of the scenario's answer schema. */
  readonly fits: boolean;
  /** The texts with a user; undefined where the scenario has none. */
  readonly conversation?: readonly UserMessage[] | undefined;
}

/**
 * The scenario's first half, and what an agent may call then.
 *
 * @throws BoundaryError boundary `setup` or `environment`; the reason of the signal.
 */
export async function setUpScenario(
  phase: ScenarioPhase,
  { args, seed }: { readonly args: JsonObject; readonly seed: number | null },
): Promise<{ readonly setup: SetupResult; readonly tools: readonly AgentToolEntry[] }> {
  const { client, scenario, span } = phase;
  return await limited(phase, 'setup', async (signal) => {
    const options = { signal, timeoutMs: 0 };
    const setup = await during(startMcpSpan(span, 'tools/call', client, 'setup'), ({ meta }) =>
      client.setup(scenario, args, { ...options, meta: { ...meta, ...(seed !== null && { [META.seed]: seed }) } }),
    );
    if (setup.answer_schema !== null) checkAnswerSchema(scenario, setup.answer_schema);
    const tools = await during(startMcpSpan(span, 'tools/list', client), ({ meta }) =>
      client.tools({ ...options, patterns: setup.tools, meta }),
    );
    return { setup, tools };
  });
}

/**
 * The scenario's second half, with its events.
 *
 * @throws BoundaryError boundary `evaluate` or `environment`; the reason of the signal.
 */
export async function evaluateAnswer(
  phase: ScenarioPhase,
  { answer, fits, conversation }: SubmittedAnswer,
  recorder: TurnRecorder,
): Promise<Evaluation> {
  const { client, scenario, span } = phase;
  const more = conversation && { [META.conversation]: conversation };
  recorder.record({ type: 'answer.submitted', answer, ...(fits ? {} : { fits }) });
  const startedAt = performance.now();
  const evaluated = await during(startMcpSpan(span, 'tools/call', client, 'evaluate'), async (own) => {
    const { meta } = own;
    const evaluation = await limited(phase, 'evaluate', (signal) =>
      client.evaluate(scenario, answer, { signal, timeoutMs: 0, meta: { ...meta, ...more } }),
    );
    addEvaluation(span.isRecording ? span : own, scenario, evaluation);
    return evaluation;
  });
  const duration_ms = Math.round(performance.now() - startedAt);
  recorder.record({ type: 'evaluation.completed', evaluation: evaluated, duration_ms });
  return evaluated;
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
    return await withDeadline(work, { signal, ms: limitMs, toError });
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
