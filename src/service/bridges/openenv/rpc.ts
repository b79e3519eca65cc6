import type { JsonObject } from '../../../contract/json.ts';
import { isJsonObject } from '../../../contract/json.ts';
import { rpcRequestSchema } from './messages.ts';
import { toCallResult, toToolSpec } from './observation.ts';
import type { OpenEnvError, OpenEnvErrorCode } from './openenv-error.ts';
import type { OpenEnvSession } from './session.ts';
import type { OpenEnvSessions } from './sessions.ts';
import type { ToError } from './to-error.ts';

type Id = string | number | null;

export interface RpcReply {
  readonly jsonrpc: '2.0';
  readonly id: Id;
  readonly result?: unknown;
  readonly error?: { readonly code: number; readonly message: string; readonly data: unknown };
}

export interface RpcContext {
  readonly sessions: OpenEnvSessions;
  readonly toError: ToError;
  /** Session of the socket that received the request; undefined over HTTP. */
  readonly own?: OpenEnvSession;
}

const CODES = {
  parse: -32_700,
  invalidRequest: -32_600,
  unknownMethod: -32_601,
  invalidParams: -32_602,
  internal: -32_603,
  server: -32_000,
} as const;

/** JSON-RPC code of each error of the protocol. */
const CODE_OF: Readonly<Record<OpenEnvErrorCode, number>> = {
  INVALID_JSON: CODES.parse,
  UNKNOWN_TYPE: CODES.unknownMethod,
  VALIDATION_ERROR: CODES.invalidParams,
  EXECUTION_ERROR: CODES.internal,
  CAPACITY_REACHED: CODES.server,
  FACTORY_ERROR: CODES.server,
  SESSION_ERROR: CODES.server,
};

/** The reply to a text that is not JSON. */
export function parseErrorReply(): RpcReply {
  return refuse(null, CODES.parse, 'Parse error');
}

/** The reply to an error that ends a socket. */
export function errorReply(error: OpenEnvError, id: Id = null): RpcReply {
  const { errors, ...data } = error.details;
  const isBare = errors === undefined && Object.keys(data).length === 0;
  return refuse(
    id,
    CODE_OF[error.code],
    error.message,
    isBare ? null : { ...data, ...(errors === undefined ? {} : { errors }) },
  );
}

/** Answers one JSON-RPC request. Never rejects: a failure becomes an error reply. */
export async function answerRpc(message: unknown, context: RpcContext): Promise<RpcReply> {
  const parsed = rpcRequestSchema.safeParse(message);
  if (!parsed.success) {
    const issues = parsed.error.issues.map(({ path, message }) => `${path.map(String).join('.') || 'it'} ${message}`);
    return refuse(null, CODES.invalidRequest, `Invalid request: ${issues.join('; ')}`);
  }
  const { method, params, id = null } = parsed.data;
  try {
    const result = await answer(method, params, context);
    return { jsonrpc: '2.0', id, result };
  } catch (thrown) {
    if (thrown instanceof RpcError) return refuse(id, thrown.code, thrown.message);
    return errorReply(context.toError(thrown), id);
  }
}

async function answer(method: string, params: JsonObject, context: RpcContext): Promise<unknown> {
  if (method === 'openenv/session/create') return await createSession(params, context);
  if (method === 'openenv/session/close') return await closeSession(params, context);
  if (method !== 'tools/list' && method !== 'tools/call') {
    throw new RpcError(CODES.unknownMethod, `Method not found: ${method.slice(0, 200)}`);
  }
  const work = method === 'tools/list' ? listTools : (session: OpenEnvSession) => callTool(session, params);
  const session = sessionOf(params, context);
  return session === undefined ? await context.sessions.once(work) : await work(session);
}

/** Opens a session. Parameters, if any, are the data of its first `reset`. */
async function createSession(params: JsonObject, { sessions, own }: RpcContext): Promise<object> {
  const session = own ?? sessions.open(true);
  if (Object.keys(params).length === 0) return { session_id: session.id };
  try {
    const first = await session.reset(params);
    return { session_id: session.id, ...first };
  } catch (thrown) {
    if (own === undefined) await session.end();
    throw thrown;
  }
}

async function closeSession(params: JsonObject, { sessions, own }: RpcContext): Promise<object> {
  const { session_id } = params;
  if (typeof session_id !== 'string' || session_id === '') {
    throw new RpcError(CODES.invalidParams, "Invalid params - 'session_id' is required");
  }
  if (session_id === own?.id) {
    throw new RpcError(CODES.invalidRequest, 'The session of a socket is closed with the socket.');
  }
  const session = sessions.find(session_id);
  if (session === undefined) throw unknownSession(session_id);
  await session.end();
  return { session_id, closed: true };
}

function sessionOf({ session_id }: JsonObject, { sessions, own }: RpcContext): OpenEnvSession | undefined {
  if (own !== undefined || session_id === undefined || session_id === null || session_id === '') return own;
  const found = typeof session_id === 'string' ? sessions.find(session_id) : undefined;
  if (found === undefined) throw unknownSession(String(session_id));
  return found;
}

/** Sends each schema under both names that clients read. */
async function listTools(session: OpenEnvSession): Promise<object> {
  const tools = (await session.tools()).map(toToolSpec);
  return { tools: tools.map((tool) => ({ ...tool, inputSchema: tool.input_schema })) };
}

async function callTool(session: OpenEnvSession, { name, arguments: given = {} }: JsonObject): Promise<object> {
  if (typeof name !== 'string' || name === '') throw new RpcError(CODES.invalidParams, "Missing 'name' in params");
  const args = given ?? {};
  if (!isJsonObject(args)) throw new RpcError(CODES.invalidParams, "'arguments' has to be an object");
  const reply = await session.callTool(name, args);
  if (reply.kind === 'failed') throw new RpcError(CODES.internal, reply.error.message);
  const result = toCallResult(reply.result);
  if (reply.kind === 'answered') return result;
  // Clients read only `data`, so the reward is in it.
  return { ...result, data: { text: result.data, reward: reply.reward, done: true }, reward: reply.reward, done: true };
}

class RpcError extends Error {
  readonly code: number;

  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}

function unknownSession(id: string): RpcError {
  return new RpcError(CODES.invalidParams, `Unknown session_id: ${id.slice(0, 100)}`);
}

function refuse(id: Id, code: number, message: string, data: unknown = null): RpcReply {
  return { jsonrpc: '2.0', id, error: { code, message, data } };
}
