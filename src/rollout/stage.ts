import type { AgentToolEntry, ConnectOptions, EnvironmentClient, Sampler } from '../client/environment-client.ts';
import type { AgentTool } from '../contract/chat.ts';
import type { Boundary } from '../contract/errors.ts';
import type { JsonObject } from '../contract/json.ts';
import type { SetupResult, UserOfSetup } from '../contract/scenario.ts';
import type { ReferenceContext } from '../model/chat-model.ts';
import { endsWithin } from '../runtime/deadline.ts';
import type { TraceSpan } from '../telemetry/trace-span.ts';
import type { EventRecorder } from '../trace/event-recorder.ts';
import type { Agent } from './agent.ts';
import { toReferenceContext } from './reference-context.ts';
import { setUpScenario } from './scenario-phases.ts';
import type { ConversationUser } from './simulated-user.ts';
import { startEnvironment } from './start-environment.ts';
import { Transcript } from './transcript.ts';
import { UserSide } from './user-side.ts';
import { toVersions } from './versions.ts';

/** Milliseconds for questions of an evaluation that is over: they are aborted with it. */
const LAST_ANSWERS_MS = 1_000;

export interface StageOptions {
  readonly scenario: string;
  readonly args: JsonObject;
  /** Seed of the environment and of a reference model. */
  readonly seed: number | null;
  /** Seed of the environment where it is another one. */
  readonly setupSeed?: number | null | undefined;
  /** A fresh environment for this session alone, which closes it. */
  connect(options: ConnectOptions): Promise<EnvironmentClient>;
  /** Makes the side that makes the moves. @throws BoundaryError boundary `model` where it cannot. */
  createAgent(context: ReferenceContext): Agent;
  /**
   * Makes the user that the agent talks with. Without it nobody here plays users: the client of a chat is one itself.
   *
   * @throws BoundaryError boundary `worker` where it cannot.
   */
  createUser?(user: UserOfSetup, client: EnvironmentClient): ConversationUser;
  /** Makes what answers the environment's questions to a model. Without it nobody does. */
  createSampler?(recorder: EventRecorder, ended: AbortSignal): Sampler;
  readonly recorder: EventRecorder;
  /** Name of the worker or the server, for the trace. */
  readonly worker: string;
  /** SHA-256 of the environment's code, hex; null where it is not known. */
  readonly environmentHash: string | null;
  /** True for an attempt of a run: it ends as `lost` where its environment dies with others in it. Default false. */
  readonly isAttempt?: boolean;
}

/** Opening, as its session sees it. */
export interface Opening {
  readonly signal: AbortSignal;
  /** Span of the run or the turn. */
  readonly span: TraceSpan;
  readonly setupMs: number;
  /** Aborted when the session ends. */
  readonly ended: AbortSignal;
  /** Called with the boundary of the part that begins. */
  enter(boundary: Boundary): void;
  /** From now on the session closes it, whatever becomes of the setup. */
  onConnected(client: EnvironmentClient): void;
}

/** A scenario that is set up, and the agent that plays it. */
export interface Stage {
  readonly client: EnvironmentClient;
  readonly setup: SetupResult;
  /** Tools that the agent is offered. */
  readonly tools: readonly AgentTool[];
  readonly readOnlyTools: ReadonlySet<string>;
  readonly transcript: Transcript;
  readonly agent: Agent;
  /** Undefined where the agent talks with nobody. */
  readonly user: UserSide | undefined;
  /** Resolves when no question of the environment to a model is open, after a second in any case. Never rejects. */
  questionsOver(): Promise<unknown>;
}

/**
 * Makes the agent, connects the environment, sets the scenario up and lists what the agent may call.
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
  const created = setup.user && options.createUser?.(setup.user, client);
  const user = created && new UserSide({ user: created, transcript, recorder, ended: opening.ended });
  const questionsOver = () => endsWithin(Promise.allSettled(open), LAST_ANSWERS_MS);
  return { client, setup, tools, readOnlyTools: readOnlyOf(listed), transcript, agent, user, questionsOver };
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
