import { randomUUID } from 'node:crypto';
import type { AgentTool } from '../../../contract/chat.ts';
import type { JsonObject } from '../../../contract/json.ts';
import { SUBMIT_ANSWER } from '../../../contract/service/seat.ts';
import type { Catalogue } from '../../../environment/client/catalogue.ts';
import type { EnvironmentClient } from '../../../environment/client/environment-client.ts';
import { Activity } from '../activity.ts';
import { type Episode, toAnswerTool } from '../episode.ts';
import type { Episodes } from '../episodes.ts';
import type { EpisodeState, StepResult } from './messages.ts';
import { type CallReply, failed, toCallReply, toFirstResult } from './observation.ts';
import { OpenEnvError } from './openenv-error.ts';
import type { TaskChoice } from './tasks.ts';

/** Milliseconds of a second: `timeout_s` is in seconds, timers are not. */
const MS = 1_000;

/** The environment that all sessions of a server play. */
export interface ServedEnvironment {
  /** Configured name. */
  readonly name: string;
  readonly catalogue: Pick<Catalogue, 'tools'>;
  readonly choice: TaskChoice;
  readonly episodes: Episodes;
  /** Connects as an agent to an environment without a scenario. The caller closes the connection. */
  connect(signal: AbortSignal): Promise<EnvironmentClient>;
}

interface CurrentPlay {
  readonly episode: Episode;
  readonly id: string;
  readonly scenario: string;
  steps: number;
}

/** One client's session. It has one episode at a time, or an environment without a scenario. */
export class OpenEnvSession {
  readonly id = randomUUID();
  readonly #served: ServedEnvironment;
  readonly #end = new AbortController();
  #played: CurrentPlay | undefined;
  #bare: Promise<EnvironmentClient> | undefined;
  readonly #activity = new Activity();

  constructor(served: ServedEnvironment) {
    this.#served = served;
  }

  /** Aborted when the session has ended. The reason is `EXPIRED` if the session was idle for too long. */
  get ended(): AbortSignal {
    return this.#end.signal;
  }

  /** Milliseconds without a message; 0 while a message is being answered. */
  get idleMs(): number {
    return this.#activity.idleMs;
  }

  /**
   * Starts an episode, and abandons the one that is running.
   *
   * @throws OpenEnvError, ApiError or BoundaryError. If the data is invalid, the running episode continues.
   */
  async reset(data: JsonObject): Promise<StepResult> {
    return await this.#busy(async () => {
      const { choice, episodes, name } = this.#served;
      const { episodeId, ...asked } = await choice.choose(data);
      await this.#leave('abandoned');
      this.#assertOpen();
      const episode = await episodes.open({ environment: name, ...asked });
      this.#played = { episode, id: episodeId ?? episode.traceId, scenario: asked.scenario, steps: 0 };
      // The session was closed during the setup, so this call has to end the episode.
      if (this.#end.signal.aborted) await this.#leave('abandoned');
      this.#endWith(episode);
      try {
        return toFirstResult((await episode.ready()).setup);
      } catch (thrown) {
        if (this.#played?.episode === episode) this.#played = undefined;
        throw thrown;
      }
    });
  }

  /** Lists the tools of the episode. Before the first `reset`: the tools of the environment without a scenario. */
  async tools(): Promise<readonly AgentTool[]> {
    return await this.#busy(async () => {
      if (this.#played !== undefined) return await this.#played.episode.tools();
      return [...(await this.#served.catalogue.tools(this.#served.name)), toAnswerTool(null)];
    });
  }

  /**
   * Calls a tool of the episode.
   *
   * @param timeoutS limit in seconds; a submitted answer is evaluated however long that takes.
   * @throws OpenEnvError EXECUTION_ERROR if there is no running episode.
   */
  async step(name: string, args: JsonObject, timeoutS: number | null): Promise<CallReply> {
    return await this.#busy(async () => {
      const played = this.#played;
      if (played === undefined) throw callResetFirst('there is no episode yet');
      if (played.episode.isOver) throw callResetFirst('the episode is over');
      played.steps += 1;
      return await withTimeout(name, timeoutS, async (signal) => {
        return toCallReply(await played.episode.call(name, args, signal));
      });
    });
  }

  /** Calls a tool of the episode; before any `reset`, of the environment without a scenario. @throws as `step`. */
  async callTool(name: string, args: JsonObject): Promise<CallReply> {
    if (this.#played !== undefined) return await this.step(name, args, null);
    return await this.#busy(async () => {
      if (name === SUBMIT_ANSWER) {
        return failed(
          'invalid_args',
          'There is no scenario to answer: begin one by reset, or by what openenv/session/create carries.',
        );
      }
      const client = await this.#connected();
      const { signal } = this.#end;
      const tools = await client.tools({ signal });
      if (!tools.some((tool) => tool.name === name)) return failed('tool_not_found', unknownTool(name, tools));
      return toCallReply({ kind: 'answered', result: await client.call(name, args, { signal }) });
    });
  }

  /** Returns the state of the episode, without waiting for a running call. */
  state(): EpisodeState {
    this.#activity.touch();
    this.#played?.episode.touch();
    const played = this.#played;
    return {
      episode_id: played?.id ?? null,
      step_count: played?.steps ?? 0,
      trace_id: played?.episode.traceId ?? null,
      scenario: played?.scenario ?? null,
      done: played?.episode.isOver ?? false,
    };
  }

  get isOver(): boolean {
    return this.#played?.episode.isOver ?? false;
  }

  /** Ends the session. A running episode is abandoned or expires; a submitted answer is evaluated. Never rejects. */
  async end(why: 'abandoned' | 'expired' = 'abandoned'): Promise<void> {
    if (!this.#end.signal.aborted) this.#end.abort(why === 'expired' ? EXPIRED : CLOSED);
    await this.#leave(why);
  }

  /** Opens the environment without a scenario at the first call, since most clients never make one. */
  #connected(): Promise<EnvironmentClient> {
    this.#assertOpen();
    this.#bare ??= this.#served.connect(this.#end.signal);
    this.#bare.catch(() => {
      this.#bare = undefined;
    });
    return this.#bare;
  }

  async #leave(why: 'abandoned' | 'expired'): Promise<void> {
    const played = this.#played;
    const bare = this.#bare;
    this.#bare = undefined;
    const client = await bare?.catch(() => undefined);
    await client?.close();
    if (played !== undefined && !played.episode.isOver) await this.#served.episodes.abandon(played.episode, why);
  }

  /** Ends the session when its episode ended because it was idle. */
  #endWith(episode: Episode): void {
    void episode.ended.then((end) => {
      if (end?.stopReason === 'expired' && this.#played?.episode === episode) void this.end('expired');
    });
  }

  #assertOpen(): void {
    if (this.#end.signal.aborted) throw new OpenEnvError('SESSION_ERROR', 'The session has ended.');
  }

  async #busy<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await this.#activity.during(work);
    } finally {
      this.#played?.episode.touch();
    }
  }
}

/** Reasons for the end of a session. Callers compare them by identity. */
export const EXPIRED = new Error('The session was idle for too long');
const CLOSED = new Error('The session was closed');

function callResetFirst(why: string): OpenEnvError {
  return new OpenEnvError('EXECUTION_ERROR', `call reset first: ${why}`);
}

async function withTimeout(
  name: string,
  seconds: number | null,
  call: (signal?: AbortSignal) => Promise<CallReply>,
): Promise<CallReply> {
  if (seconds === null || name === SUBMIT_ANSWER) return await call();
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(new Error(`its timeout_s of ${seconds} s is over`)), seconds * MS);
  try {
    const reply = await call(late.signal);
    if (!late.signal.aborted) return reply;
    return failed('timeout', `${name} did not answer within its timeout_s of ${seconds} s.`);
  } finally {
    clearTimeout(timer);
  }
}

function unknownTool(name: string, tools: readonly AgentTool[]): string {
  const names = tools.map((tool) => tool.name).join(', ');
  return `There is no tool ${JSON.stringify(name.slice(0, 100))}. There are ${names}.`;
}
