import { z } from 'zod';
import { ApiError } from '../../../contract/errors.ts';
import { type JsonSchema, jsonObjectSchema } from '../../../contract/json.ts';
import { DEFAULT_BODY_LIMIT_BYTES, parseJson, readBytes, UTF_8 } from '../../../support/http/api/body.ts';
import type { Mount, Route, RouteReply, RouteRequest } from '../../../support/http/api/route.ts';
import { requestIdOf } from '../../../support/http/listen.ts';
import { sendReply } from '../../../support/http/reply/send-reply.ts';
import { toErrorReply } from '../../../support/http/request-log.ts';
import {
  actionSchema,
  observationSchema,
  parse,
  stateSchema,
  stepRequestSchema,
  stepResultSchema,
} from './messages.ts';
import { toToolsResult } from './observation.ts';
import type { OpenEnvError, OpenEnvErrorCode } from './openenv-error.ts';
import { answerRpc, parseErrorReply, type RpcContext } from './rpc.ts';

export interface OpenEnvRoutesOptions extends Omit<RpcContext, 'own'> {
  /** Name of the environment, for `/metadata`. */
  readonly name: string;
  readonly description: string;
  readonly logger: Parameters<typeof toErrorReply>[2];
}

const STATUS: Readonly<Record<OpenEnvErrorCode, number>> = {
  INVALID_JSON: 400,
  UNKNOWN_TYPE: 422,
  VALIDATION_ERROR: 422,
  EXECUTION_ERROR: 500,
  CAPACITY_REACHED: 503,
  FACTORY_ERROR: 502,
  SESSION_ERROR: 503,
};

/**
 * Routes `reset`, `step` and `state` without a session. Each request gets an environment of its own, as in the
 * protocol.
 */
export function createOpenEnvRoutes(options: OpenEnvRoutesOptions): readonly Route[] {
  const { sessions } = options;
  const refusing = (handle: Handle): Handle => asRefused(handle, options);
  return [
    {
      ...post('/reset', 'What the task asks for; nothing of it goes on afterwards'),
      handle: refusing(async ({ json }) => {
        const data = parse(jsonObjectSchema, json ?? {});
        return { body: await sessions.once((session) => session.reset(data)) };
      }),
    },
    {
      ...post('/step', 'Lists the tools; a call needs the session of a socket'),
      handle: refusing(async ({ json }) => {
        const action = parse(actionSchema, parse(stepRequestSchema, json ?? {}).action);
        if (action.type === 'call_tool') throw callResetFirst();
        return { body: await sessions.once(async (session) => toToolsResult(await session.tools(), false)) };
      }),
    },
    {
      ...get('/state', 'The state before an episode'),
      response: stateSchema,
      handle: refusing(async () => ({ body: await sessions.once(async (session) => session.state()) })),
    },
    { ...get('/health', 'The server is up'), access: 'public', handle: () => ({ body: { status: 'healthy' } }) },
    { ...get('/metadata', 'The environment'), handle: () => ({ body: toMetadata(options) }) },
    { ...get('/schema', 'Schemas of action, observation and state'), handle: () => ({ body: SCHEMAS }) },
  ];
}

/** JSON-RPC over HTTP. An error is a reply with status 200. */
export function createRpcMount(options: OpenEnvRoutesOptions): Mount {
  return {
    path: '/mcp',
    methods: ['POST'],
    operations: { post: { summary: 'JSON-RPC: tools/list, tools/call, openenv/session/create and close' } },
    async handle(request, response) {
      if (request.method !== 'POST') {
        throw new ApiError('method_not_allowed', `/mcp does not take ${request.method}; it takes POST.`, {
          headers: { allow: 'POST, OPTIONS' },
        });
      }
      const bytes = await readBytes(request, DEFAULT_BODY_LIMIT_BYTES);
      sendReply(response, { body: await answerBytes(bytes, options) });
    },
    refuse(_request, response, thrown) {
      sendReply(response, toErrorReply(thrown, requestIdOf(response), options.logger, toDetail));
    },
  };
}

/** Body of an HTTP error in the protocol's form. */
export function toDetail(error: ApiError): object {
  return { detail: error.message };
}

async function answerBytes(bytes: Uint8Array, context: RpcContext): Promise<object> {
  let message: unknown;
  try {
    message = parseJson(UTF_8.decode(bytes));
  } catch {
    return parseErrorReply();
  }
  return await answerRpc(message, context);
}

type Handle = (request: RouteRequest) => Promise<RouteReply>;

function asRefused(handle: Handle, { toError }: OpenEnvRoutesOptions): Handle {
  return async (request) => {
    try {
      return await handle(request);
    } catch (thrown) {
      // All servers answer 503 and 409 in the same form.
      if (thrown instanceof ApiError && (thrown.status === 503 || thrown.status === 409)) throw thrown;
      return toRefusal(toError(thrown));
    }
  };
}

function callResetFirst(): ApiError {
  const message =
    'call reset first: over HTTP each request has an environment of its own. Play an episode over the socket at /ws, or by openenv/session/create at /mcp.';
  return new ApiError('session_conflict', message);
}

function toRefusal(error: OpenEnvError): RouteReply {
  const status = STATUS[error.code];
  const headers: Readonly<Record<string, string>> = status === 503 ? { 'retry-after': '10' } : {};
  const { errors } = error.details;
  return { status, headers, body: { detail: Array.isArray(errors) && errors.length > 0 ? errors : error.message } };
}

function get(path: string, summary: string) {
  return { method: 'GET', path, summary, access: 'key' } as const;
}

/** The handlers check the bodies, since their errors have a status and a form of the protocol. */
function post(path: string, summary: string) {
  const request = z.looseObject({}).optional();
  return { method: 'POST', path, summary, access: 'key', request, response: stepResultSchema } as const;
}

function toMetadata({ name, description }: OpenEnvRoutesOptions): object {
  return { name, description, readme_content: null, version: null, author: null, documentation_url: null };
}

function toSchema(schema: z.ZodType): JsonSchema {
  return z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' });
}

const SCHEMAS = {
  action: toSchema(actionSchema),
  observation: toSchema(observationSchema),
  state: toSchema(stateSchema),
};
