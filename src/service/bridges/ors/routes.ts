import { z } from 'zod';
import type { AgentTool } from '../../../contract/chat.ts';
import { ApiError, BoundaryError } from '../../../contract/errors.ts';
import { jsonObjectSchema } from '../../../contract/json.ts';
import type { Catalogue } from '../../../environment/client/catalogue.ts';
import { checkScenarioArgs } from '../../../environment/client/scenario-args.ts';
import type { Route, RouteReply, RouteRequest } from '../../../support/http/api/route.ts';
import { TextStream } from '../../../support/http/text-stream.ts';
import { toPublicMessage } from '../../../support/redaction/machine-text.ts';
import { startKeepAlive } from '../../../support/runtime/keep-alive.ts';
import { toAnswerTool } from '../episode.ts';
import { toPromptBlocks } from './blocks.ts';
import type { OrsEnvironment, OrsTasks } from './environments.ts';
import { HEARTBEAT, toEvent } from './event-stream.ts';
import { OrsError } from './ors-error.ts';
import type { OrsSessions } from './sessions.ts';

export interface OrsRoutesOptions {
  /** Environments by name. The first one is the default. */
  readonly environments: ReadonlyMap<string, OrsEnvironment>;
  readonly catalogue: Pick<Catalogue, 'tools'>;
  readonly tasks: OrsTasks;
  readonly sessions: OrsSessions;
  /** Milliseconds between two heartbeats of a call. Default 10,000. */
  readonly heartbeatMs?: number | undefined;
}

/** Most characters of a session id. Clients may choose their own. */
const MAX_SID = 200;

const splitBody = z.strictObject({ split: z.string() });
const taskBody = z.strictObject({ split: z.string(), index: z.int() });
const rangeBody = z.strictObject({ split: z.string(), start: z.int().nullish(), stop: z.int().nullish() });
const callBody = z.strictObject({ name: z.string(), input: jsonObjectSchema, task_id: z.string().nullish() });
const createBody = z
  .strictObject({
    env_name: z.string().nullish(),
    task_spec: jsonObjectSchema.nullish(),
    split: z.string().nullish(),
    index: z.int().nullish(),
    /** Accepted because clients send it. It is neither stored nor given to an environment. */
    secrets: z.record(z.string(), z.unknown()).nullish(),
  })
  .refine(
    ({ task_spec, split, index }) =>
      task_spec == null ? split != null && index != null : split == null && index == null,
    {
      message: 'Give either task_spec, or split and index',
    },
  );

/** The routes of the Open Reward Standard. */
export function createOrsRoutes(options: OrsRoutesOptions): readonly Route[] {
  return [...createSessionRoutes(options), ...createDiscoveryRoutes(options), ...createEpisodeRoutes(options)];
}

/** Prepends the default environment to a path that does not name one. */
export function toDefaultEnvironment(
  environments: OrsRoutesOptions['environments'],
  url: string,
): RouteReply | undefined {
  const first = (url.split(/[/?]/).find((part) => part !== '') ?? '').toLowerCase();
  const [fallback] = environments.keys();
  if (environments.has(first) || fallback === undefined) return undefined;
  return { status: 308, headers: { location: `/${fallback}${url}` } };
}

function createSessionRoutes({ environments, tasks, sessions }: OrsRoutesOptions): readonly Route[] {
  return [
    get('/health', 'The server is up', () => ({ body: { status: 'ok' } })),
    get('/list_environments', 'Names of the environments', () => ({ body: [...environments.keys()] })),
    post('/create_session', 'A new session id', ({ headers }) => {
      const sid = sessions.newId();
      const { accept = '' } = headers;
      if (accept.includes('application/json') && !accept.includes('text/event-stream')) return { body: { sid } };
      return toEventReply(toEvent('task_id', sid) + toEvent('end', ''));
    }),
    post('/create', 'Begins an episode', async (request) => {
      const sid = sidOf(request);
      const { env_name, task_spec, split, index } = parse(createBody, request.json);
      const environment = find(environments, env_name ?? [...environments.keys()][0] ?? '');
      const args = task_spec ?? (await tasks.at(environment, split ?? '', index ?? 0));
      const { entry } = environment;
      checkScenarioArgs(entry, args);
      await sessions.create(sid, environment.name, {
        environment: environment.environment,
        scenario: entry.short_name,
        args,
      });
      return { body: { sid } };
    }),
    post('/ping', 'The client of a session is there', async (request) => {
      await sessions.find(sidOf(request));
      return { body: { status: 'ok' } };
    }),
    ...['/delete', '/delete_session'].map((path) =>
      post(path, 'Ends an episode', async (request) => {
        const sid = sidOf(request);
        await sessions.delete(sid);
        return { body: { sid } };
      }),
    ),
  ];
}

function createDiscoveryRoutes({ environments, catalogue, tasks }: OrsRoutesOptions): readonly Route[] {
  const own = ownRoutes(environments);
  return [
    own.get('tools', 'Tools before an episode begins', async (environment) => {
      const listed = await catalogue.tools(environment.environment);
      return { body: { tools: [...listed, toAnswerTool(null)].map(toToolSpec) } };
    }),
    own.get('splits', 'Splits of the tasks', async (environment) => ({
      body: (await tasks.splits(environment)).map((name) => ({ name, type: name })),
    })),
    own.post('tasks', 'The tasks of a split', async (environment, { json }) => {
      const { split } = parse(splitBody, json);
      return { body: { tasks: await tasks.ofSplit(environment, split), env_name: environment.name } };
    }),
    own.post('num_tasks', 'How many tasks a split has', async (environment, { json }) => {
      const { split } = parse(splitBody, json);
      return { body: { num_tasks: (await tasks.ofSplit(environment, split)).length } };
    }),
    own.post('task', 'One task', async (environment, { json }) => {
      const { split, index } = parse(taskBody, json);
      return { body: { task: await tasks.at(environment, split, index) } };
    }),
    own.post('task_range', 'Tasks from one index to another, as Python slices', async (environment, { json }) => {
      const { split, start, stop } = parse(rangeBody, json);
      return { body: { tasks: (await tasks.ofSplit(environment, split)).slice(start ?? 0, stop ?? undefined) } };
    }),
  ];
}

function createEpisodeRoutes({ environments, sessions, heartbeatMs }: OrsRoutesOptions): readonly Route[] {
  const own = ownRoutes(environments);
  return [
    own.get('task_tools', 'Tools of an episode', async (environment, request) => {
      const episode = await sessions.find(sidOf(request), environment.name);
      return { body: { tools: (await episode.tools()).map(toToolSpec) } };
    }),
    own.get('prompt', 'What the task asks for', async (environment, request) => {
      const episode = await sessions.find(sidOf(request), environment.name);
      return { body: toPromptBlocks((await episode.ready()).setup) };
    }),
    own.post('call', 'Calls a tool, or asks for the result of a call', async (environment, request) => {
      const sid = sidOf(request);
      const { task_id, ...asked } = parse(callBody, request.json);
      const call =
        task_id == null ? await sessions.call(sid, environment.name, asked) : await sessions.callOf(sid, task_id);
      if (call === undefined) return toEventReply(toEvent('error', 'unknown task_id'));
      const stream = new TextStream();
      stream.push(toEvent('task_id', call.id));
      const { stop } = startKeepAlive(() => stream.push(HEARTBEAT), heartbeatMs);
      request.signal.addEventListener('abort', stop, { once: true });
      void call.events.then((events) => {
        stop();
        stream.push(events);
        stream.end();
      });
      return { headers: EVENT_STREAM, stream };
    }),
  ];
}

const EVENT_STREAM = { 'content-type': 'text/event-stream; charset=utf-8', 'x-accel-buffering': 'no' } as const;

function toEventReply(events: string): RouteReply {
  return { headers: EVENT_STREAM, body: events };
}

function toToolSpec({ name, description, input_schema }: Pick<AgentTool, 'name' | 'description' | 'input_schema'>) {
  return { name, description, input_schema };
}

type Handle = (request: RouteRequest) => Promise<RouteReply> | RouteReply;
type OwnHandle = (environment: OrsEnvironment, request: RouteRequest) => Promise<RouteReply>;

function get(path: string, summary: string, handle: Handle): Route {
  return { method: 'GET', path, summary, access: path === '/health' ? 'public' : 'key', handle: refusing(handle) };
}

/** The handlers check the bodies, since their errors have a status and a form of the protocol. */
function post(path: string, summary: string, handle: Handle): Route {
  const request = z.looseObject({}).optional();
  return { method: 'POST', path, summary, access: 'key', request, handle: refusing(handle) };
}

/** Routes under the name of an environment. */
function ownRoutes(environments: OrsRoutesOptions['environments']) {
  const named = (handle: OwnHandle): Handle => {
    return async (request) => {
      const environment = environments.get((request.params.environment ?? '').toLowerCase());
      if (environment !== undefined) return await handle(environment, request);
      const query = request.query.size === 0 ? '' : `?${request.query}`;
      return toDefaultEnvironment(environments, request.path + query) ?? {};
    };
  };
  return {
    get: (name: string, summary: string, handle: OwnHandle) => get(`/:environment/${name}`, summary, named(handle)),
    post: (name: string, summary: string, handle: OwnHandle) => post(`/:environment/${name}`, summary, named(handle)),
  };
}

function refusing(handle: Handle): Handle {
  return async (request) => {
    try {
      return await handle(request);
    } catch (thrown) {
      const error = toOrsError(thrown);
      if (error === undefined) throw thrown;
      return { status: error.status, body: { detail: error.detail } };
    }
  };
}

/**
 * Converts an error. A scenario that fails in its setup is a server error. Undefined for errors that all routes
 * share.
 */
function toOrsError(thrown: unknown): OrsError | undefined {
  if (thrown instanceof OrsError) return thrown;
  if (thrown instanceof BoundaryError) return new OrsError(500, toPublicMessage(thrown.message));
  if (thrown instanceof ApiError && thrown.code === 'run_finished') return new OrsError(410, 'Session deleted');
  return undefined;
}

/** @throws OrsError 404 */
function find(environments: OrsRoutesOptions['environments'], name: string): OrsEnvironment {
  const found = environments.get(name.toLowerCase());
  if (found !== undefined) return found;
  const names = [...environments.keys()].slice(0, 20).join(', ');
  throw new OrsError(404, `unknown environment ${JSON.stringify(name.slice(0, 100))}; there are ${names}`);
}

/** @throws OrsError 400 */
function sidOf({ headers }: Pick<RouteRequest, 'headers'>): string {
  const sid = String(headers['x-session-id'] ?? '').trim();
  if (sid === '') throw new OrsError(400, 'X-Session-ID header is required');
  if (sid.length > MAX_SID) {
    throw new OrsError(400, `X-Session-ID has ${sid.length} characters; it may have ${MAX_SID}`);
  }
  return sid;
}

/** @throws OrsError 422 that lists the faults. */
function parse<Schema extends z.ZodType>(schema: Schema, body: unknown): z.output<Schema> {
  const parsed = schema.safeParse(body ?? {});
  if (parsed.success) return parsed.data;
  const detail = parsed.error.issues.map(({ path, message, code }) => ({
    type: code,
    loc: ['body', ...path.map((part) => (typeof part === 'symbol' ? String(part) : part))],
    msg: message,
  }));
  throw new OrsError(422, detail);
}
