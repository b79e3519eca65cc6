import { z } from 'zod';
import { durationText } from '../../../support/text/figures.ts';
import type { SandboxLoss } from '../engine.ts';
import type { DockerApi } from './api.ts';
import { isStatus } from './refusal.ts';

const stateSchema = z.object({
  State: z.object({
    Running: z.boolean(),
    Paused: z.boolean().optional(),
    ExitCode: z.number(),
    OOMKilled: z.boolean().optional(),
    Error: z.string().optional(),
    StartedAt: z.string(),
    FinishedAt: z.string().optional(),
  }),
});
export type ContainerState = z.infer<typeof stateSchema>['State'];

/** State of a container; undefined if there is none. */
export async function containerState(
  api: DockerApi,
  id: string,
  signal: AbortSignal,
): Promise<ContainerState | undefined> {
  try {
    return (await api.json({ method: 'GET', path: `/containers/${id}/json` }, stateSchema, signal)).State;
  } catch (error) {
    if (isStatus(error, 404)) return undefined;
    throw error;
  }
}

/** Waits for the end of a container. @throws EngineError if the engine breaks off the wait. */
export async function untilNotRunning(api: DockerApi, id: string, signal: AbortSignal): Promise<void> {
  const call = {
    method: 'POST',
    path: `/containers/${id}/wait`,
    query: { condition: 'not-running' },
    limitMs: null,
  } as const;
  try {
    const reply = await api.stream(call, signal);
    for await (const _ of reply);
  } catch (error) {
    if (!isStatus(error, 404)) throw error;
  }
}

/** Why a sandbox ended that nobody of us has ended. */
export async function explainLoss(
  api: DockerApi,
  id: string,
  { lifeMs, wasAway }: { readonly lifeMs: number; readonly wasAway: boolean },
  signal: AbortSignal,
): Promise<SandboxLoss> {
  const state = await containerState(api, id, signal);
  if (state === undefined) return { by: 'engine', reason: 'was removed from the container engine by somebody else' };
  const code = `exit code ${state.ExitCode}`;
  if (state.Error) return { by: 'engine', reason: `was ended by the container engine: ${state.Error}` };
  if (state.OOMKilled === true)
    return { by: 'engine', reason: `ran out of memory, so that its first process was ended (${code})` };
  const lived = Date.parse(state.FinishedAt ?? '') - Date.parse(state.StartedAt);
  if (state.ExitCode === 0 && lived >= lifeMs - 1_000) {
    return { by: 'engine', reason: `was at the end of its life of ${durationText(lifeMs)}` };
  }
  if (wasAway) return { by: 'engine', reason: `ended while the container engine was away (${code})` };
  const killer = await killedFromOutside(api, id, state, signal);
  if (killer) return { by: 'engine', reason: `was ended from outside, by a call of the container engine (${code})` };
  return { by: 'agent', reason: `was ended by its own command (${code})` };
}

/** Engines tell the calls that end a container, and nothing of signals from inside. */
async function killedFromOutside(
  api: DockerApi,
  id: string,
  state: ContainerState,
  signal: AbortSignal,
): Promise<boolean> {
  const since = Math.floor(Date.parse(state.StartedAt) / 1_000);
  const filters = JSON.stringify({ container: [id], type: ['container'] });
  const until = Math.floor(Date.now() / 1_000) + 1;
  const call = { method: 'GET', path: '/events', query: { since, until, filters }, limitMs: null } as const;
  const text = await api.text(call, AbortSignal.any([signal, AbortSignal.timeout(10_000)])).catch(() => '');
  return /"(Action|status|Status)":\s*"(kill|stop)"/.test(text);
}
