import type { AgentTool, ToolCall } from '../../contract/chat.ts';
import type { Boundary } from '../../contract/error-shapes.ts';
import { BoundaryError } from '../../contract/errors.ts';
import type { JsonObject } from '../../contract/json.ts';
import type { SetupResult, UserOfSetup } from '../../contract/scenario.ts';
import type {
  AgentToolEntry,
  ConnectOptions,
  EnvironmentClient,
  Sampler,
} from '../../environment/client/environment-client.ts';
import type { OnWait } from '../../models/gateway/call-guard.ts';
import type { ReferenceContext } from '../../models/gateway/chat-model.ts';
import type { EventRecorder } from '../../store/traces/event-recorder.ts';
import { endsWithin, withDeadline } from '../../support/runtime/deadline.ts';
import { during, startMcpSpan } from '../../support/telemetry/spans.ts';
import type { TraceSpan } from '../../support/telemetry/trace-span.ts';
import type { Agent } from './agent.ts';
import { toReferenceContext } from './reference-context.ts';
import { setUpScenario } from './scenario-phases.ts';
import { startEnvironment } from './start-environment.ts';
import { Transcript } from './transcript.ts';
import type { ConversationUser } from './user/simulated-user.ts';
import { UserConversation } from './user/user-conversation.ts';
import { toVersions } from './versions.ts';

/** Milliseconds for the questions of an evaluation that is over, which are aborted with it. */
const LAST_ANSWERS_MS = 1_000;
/** Milliseconds for the sandboxes of a session, with pulls and builds of their images. */
const SANDBOXES_MS = 30 * 60_000;

export interface StageOptions {
  /** Name of the session in errors and in the labels of its sandboxes: the id of its trace. */
  readonly id: string;
  readonly scenario: string;
  readonly args: JsonObject;
  /** Seed of the environment and of a reference model. */
  readonly seed: number | null;
  /** Seed of the environment, if it differs from `seed`. */
  readonly setupSeed?: number | null | undefined;
  /** Connects a fresh environment for this session, which closes it. */
  connect(options: ConnectOptions): Promise<EnvironmentClient>;
  /** Makes the agent. @throws BoundaryError boundary `model` if it cannot. */
  createAgent(context: ReferenceContext): Agent;
  /**
   * Makes the simulated user. Without it no user is simulated, because a chat's client is the user.
   *
   * @throws BoundaryError boundary `worker` if it cannot.
   */
  createUser?(user: UserOfSetup, client: EnvironmentClient): Promise<ConversationUser>;
  /** Makes the sampler that answers the environment's questions to a model. Without it they are not answered. */
  createSampler?(recorder: EventRecorder, ended: AbortSignal): Sampler;
  readonly recorder: EventRecorder;
  /** Name of the worker or the server, for the trace. */
  readonly worker: string;
  /** SHA-256 of the environment's code, hex; null if unknown. */
  readonly environmentHash: string | null;
  /**
   * True for an attempt of a run: it ends as `lost` if its environment dies with other sessions in it. Default false.
   */
  readonly isAttempt?: boolean;
}

/** Callbacks and signals for the opening of a session. */
export interface Opening {
  readonly signal: AbortSignal;
  /** Span of the run or the turn. */
  readonly span: TraceSpan;
  readonly setupMs: number;
  /** Called when the session waits for its sandboxes. The returned function ends the wait. */
  readonly onWait?: OnWait | undefined;
  /** Aborted when the session ends. */
  readonly ended: AbortSignal;
  /** Called at the start of each part with its boundary. */
  enter(boundary: Boundary): void;
  /** Called when the session becomes responsible for closing the client, even if the setup fails. */
  onConnected(client: EnvironmentClient): void;
}

/** A scenario after its setup, with the agent that plays it. */
export interface Stage {
  readonly client: EnvironmentClient;
  readonly setup: SetupResult;
  /** Tools that are offered to the agent. */
  readonly tools: readonly AgentTool[];
  readonly readOnlyTools: ReadonlySet<string>;
  readonly transcript: Transcript;
  /** Calls that the environment has not answered, including stopped ones. */
  readonly unanswered: Set<ToolCall>;
  readonly agent: Agent;
  /** The simulated user; undefined if there is none. */
  readonly user: UserConversation | undefined;
  /** Resolves when no question of the environment to a model is open, or after one second. Never rejects. */
  questionsOver(): Promise<unknown>;
}

/**
 * Makes the agent, connects the environment, runs the setup and lists the tools that the agent may call.
 *
 * @throws BoundaryError boundary `model`, `environment` or `setup`; the reason of the signal.
 */
export async function openStage(options: StageOptions, opening: Opening): Promise<Stage> {
  const { scenario, args, seed, setupSeed = seed, recorder, worker, environmentHash } = options;
  const { signal, span, setupMs } = opening;
  const made: { client?: EnvironmentClient; setup?: SetupResult } = {};
  recorder.record({ type: 'run.started', worker, versions: toVersions(undefined, environmentHash) });
  const agent = options.createAgent(
    toReferenceContext({
      scenario,
      args,
      seed,
      client: () => made.client,
      answerSchema: () => made.setup?.answer_schema,
    }),
  );
  opening.enter('environment');
  const connect = (connectOptions: ConnectOptions) => options.connect(connectOptions);
  const client = await startEnvironment({ connect, recorder, signal, environmentHash, span });
  made.client = client;
  opening.onConnected(client);
  const open = new Set<Promise<unknown>>();
  if (options.createSampler) client.answerSamples?.(keptIn(open, options.createSampler(recorder, opening.ended)));
  await makeSandboxes(options, opening, client);
  opening.enter('setup');
  const startedAt = performance.now();
  const phase = { client, scenario, signal, limitMs: setupMs, span };
  const { setup, tools: listed } = await setUpScenario(phase, { args, seed: setupSeed });
  made.setup = setup;
  const tools = listed.map(({ name, description, input_schema }) => ({ name, description, input_schema }));
  recorder.record({
    type: 'setup.completed',
    system: setup.system,
    prompt: await recorder.toStored(setup.prompt),
    tools,
    answer_schema: setup.answer_schema,
    ...(setup.volatile === undefined ? {} : { volatile: setup.volatile }),
    duration_ms: Math.round(performance.now() - startedAt),
  });
  const transcript = new Transcript(setup.system, setup.prompt);
  if (setup.user && agent.playsOnce) transcript.addSpoken();
  const created = setup.user && (await options.createUser?.(setup.user, client));
  const user = created && new UserConversation({ user: created, transcript, recorder, ended: opening.ended });
  const questionsOver = () => endsWithin(Promise.allSettled(open), LAST_ANSWERS_MS);
  const readOnlyTools = readOnlyOf(listed);
  return { client, setup, tools, readOnlyTools, transcript, unanswered: new Set(), agent, user, questionsOver };
}

/**
 * Makes the sandboxes of the session, and records them. A pull of an image may take long, so the time of the setup begins
 * afterwards, and that of the run stands still where its limit is that of a task.
 */
async function makeSandboxes(
  { id, scenario, args, recorder }: StageOptions,
  { signal, span, onWait }: Opening,
  client: EnvironmentClient,
): Promise<void> {
  if (client.hasSandboxes !== true) return;
  const resume = onWait?.(new Error('The sandboxes of the session were not ready'));
  try {
    const toError = (limit: string) =>
      new BoundaryError('environment', 'environment_failed', `The sandboxes were not ready within ${limit}`);
    const facts = await during(startMcpSpan(span, 'tools/call', client, 'setup'), ({ meta }) =>
      withDeadline(
        async (until) => await client.makeSandboxes?.(scenario, args, id, { signal: until, timeoutMs: 0, meta }),
        { signal, ms: SANDBOXES_MS, toError },
      ),
    );
    client.onSandboxRefusal = (refusal) => recorder.record({ type: 'sandbox.refused', ...refusal });
    for (const each of facts ?? []) recorder.record({ type: 'sandbox.started', ...each });
  } finally {
    resume?.();
  }
}

function keptIn(open: Set<Promise<unknown>>, sampler: Sampler): Sampler {
  return async (request) => {
    const answering = sampler(request);
    open.add(answering);
    try {
      return await answering;
    } finally {
      open.delete(answering);
    }
  };
}

function readOnlyOf(tools: readonly AgentToolEntry[]): ReadonlySet<string> {
  return new Set(tools.filter(({ annotations }) => annotations.readOnlyHint).map(({ name }) => name));
}
