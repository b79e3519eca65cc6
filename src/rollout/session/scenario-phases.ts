import type { ToolCall } from '../../contract/chat.ts';
import { BoundaryError, messageOf, TOOL_BLOCKED } from '../../contract/errors.ts';
import type { Json, JsonObject, JsonSchema } from '../../contract/json.ts';
import { META } from '../../contract/names.ts';
import type { Evaluation, SetupResult } from '../../contract/scenario.ts';
import type { AgentToolEntry, EnvironmentClient, UserMessage } from '../../environment/client/environment-client.ts';
import type { TurnRecorder } from '../../store/traces/event-recorder.ts';
import { withDeadline } from '../../support/runtime/deadline.ts';
import { validateJsonSchema } from '../../support/schema/json-schema.ts';
import { addEvaluation, during, startMcpSpan } from '../../support/telemetry/spans.ts';
import type { TraceSpan } from '../../support/telemetry/trace-span.ts';

/** Milliseconds for an environment to answer a ping before its evaluation, if a tool call was stopped. */
const SIGN_OF_LIFE_MS = 5_000;

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
  /** False if the answer does not fit the scenario's answer schema. */
  readonly fits: boolean;
  /** Texts of the conversation with a user; undefined if the scenario has no user. */
  readonly conversation?: readonly UserMessage[] | undefined;
}

/**
 * Runs the setup of a scenario and lists the tools that an agent may call.
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
 * Runs the evaluation of a scenario and records its events.
 *
 * @param phase `unanswered` has the tool calls that were stopped.
 * @throws BoundaryError boundary `evaluate` or `environment`; `tool` if a stopped call blocks the environment; the
 *   signal's reason.
 */
export async function evaluateAnswer(
  phase: ScenarioPhase & { readonly unanswered: ReadonlySet<ToolCall> },
  { answer, fits, conversation }: SubmittedAnswer,
  recorder: TurnRecorder,
): Promise<Evaluation> {
  const { client, scenario, span } = phase;
  const more = conversation && { [META.conversation]: conversation };
  recorder.record({ type: 'answer.submitted', answer, ...(fits ? {} : { fits }) });
  await assertAnswering(phase, phase.unanswered);
  const startedAt = performance.now();
  const evaluated = await during(startMcpSpan(span, 'tools/call', client, 'evaluate'), async (own) => {
    const { meta } = own;
    const evaluation = await limited(phase, 'evaluate', (signal) =>
      client.evaluate(scenario, answer, { signal, timeoutMs: 0, meta: { ...meta, ...more } }),
    ).finally(() => {
      for (const end of client.sandboxEnds ?? []) recorder.record({ type: 'sandbox.ended', ...end });
    });
    addEvaluation(span.isRecording ? span : own, scenario, evaluation);
    return evaluation;
  });
  const duration_ms = Math.round(performance.now() - startedAt);
  recorder.record({ type: 'evaluation.completed', evaluation: evaluated, duration_ms });
  return evaluated;
}

/**
 * Fails before the evaluation if a tool call blocks the environment. The evaluation would time out and get the blame.
 */
async function assertAnswering(
  { client, signal, limitMs }: ScenarioPhase,
  unanswered: ReadonlySet<ToolCall>,
): Promise<void> {
  if (unanswered.size === 0 || client.request === undefined) return;
  const names = [...new Set([...unanswered].map(({ name }) => name))].join(', ');
  const toError = (time: string) => {
    const seen = `its call was stopped, and the environment has answered nothing in the ${time} since`;
    const remedy = 'Await what takes long, so that ctx.signal can stop it';
    return new BoundaryError('tool', TOOL_BLOCKED, `The tool ${names} holds up the environment: ${seen}. ${remedy}`);
  };
  // The evaluation reports an ended environment or an error reply.
  const ping = async (asked: AbortSignal) => {
    await client.request?.('ping', {}, { signal: asked, timeoutMs: 0 }).catch(() => {});
  };
  await withDeadline(ping, { signal, ms: Math.min(SIGN_OF_LIFE_MS, limitMs), toError });
}

/** Applies the only time limit: `timeoutMs: 0` turns off the client's own. */
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

/** Rejects an unusable answer schema before the agent has done its work. */
function checkAnswerSchema(scenario: string, schema: JsonSchema): void {
  try {
    validateJsonSchema(schema, null);
  } catch (error) {
    const message = `The answer schema of scenario ${scenario} cannot be used: ${messageOf(error)}`;
    throw new BoundaryError('setup', 'environment_failed', message, { cause: error });
  }
}
