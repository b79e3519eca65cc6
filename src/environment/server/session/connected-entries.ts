import {
  type CallToolResult,
  type Prompt,
  ProtocolError,
  ProtocolErrorCode,
  type Resource,
  type ResourceTemplateType,
  type Tool,
  UriTemplate,
} from '@modelcontextprotocol/server';
import { messageOf } from '../../../contract/errors.ts';
import { isJsonObject, type JsonObject, type JsonSchema } from '../../../contract/json.ts';
import { isTooDeep, MAX_JSON_DEPTH } from '../../../contract/json-depth.ts';
import { type SchemaIssue, validateJsonSchema } from '../../../support/schema/json-schema.ts';
import type { Completer } from '../../authoring/definition.ts';
import { describeIssues } from '../../authoring/schema/schema.ts';
import { isToolError } from '../../authoring/tool-result.ts';
import type { ConnectedServer } from '../../composition/connected-server.ts';
import { withoutReservedMeta } from '../../composition/reserved-meta.ts';
import type { Connected } from '../../composition/upstream-catalogue.ts';
import type { CompletionParams } from '../../composition/upstream-client.ts';
import { toFailedCall } from './call-tool.ts';
import type { SessionPrompt } from './prompts.ts';
import type { EnvironmentRequest } from './request.ts';
import type { SessionResource } from './resources.ts';
import type { SessionTool } from './session-tools.ts';

/** Maximum number of characters of a result as JSON. Results are kept in memory several times. */
const MAX_RESULT_LENGTH = 32 * 1024 * 1024;

/** Makes a session's tool from a tool of a connected server. Failures are results, as for every other tool. */
export function toConnectedTool(server: ConnectedServer, { original, entry }: Connected<Tool>): SessionTool {
  return {
    audience: server.definition.audience,
    entry,
    async call(args, request) {
      try {
        if (!isJsonObject(args)) return toFailedCall(`Invalid arguments of ${entry.name}: must be an object`);
        const issues = issuesOf(entry, args);
        if (issues.length > 0) {
          return toFailedCall(`Invalid arguments of ${entry.name}: ${describeIssues(issues)}`);
        }
        const { signal } = request.context;
        const result = await server.use((client) => client.callTool(original, args, request.context), signal);
        assertFit(result);
        return withoutReservedMeta(result);
      } catch (error) {
        return toFailure(server, entry.name, error, request);
      }
    },
  };
}

/** Makes a session's resource from a resource of a connected server, with the same URI. */
export function toConnectedResource(
  server: ConnectedServer,
  { entry }: Connected<Resource> | Connected<ResourceTemplateType>,
): SessionResource {
  const uri = 'uri' in entry ? entry.uri : entry.uriTemplate;
  const { audience } = server.definition;
  const { name, title, description, mimeType } = entry;
  const template = 'uriTemplate' in entry ? new UriTemplate(entry.uriTemplate) : undefined;
  const read = (at: string, request: EnvironmentRequest) =>
    orProtocolAnswer(server, `The resource ${at}`, request, async () => {
      const result = await server.use((client) => client.readResource(at, request.context), request.context.signal);
      assertFit(result);
      return withoutReservedMeta(result);
    });
  return {
    definition: {
      uri,
      isTemplate: 'uriTemplate' in entry,
      name,
      title,
      description,
      mimeType,
      audience,
      completers: new Map(
        (template?.variableNames ?? []).map((variable) => [
          variable,
          toCompleter(server, { type: 'ref/resource', uri }, variable),
        ]),
      ),
      read: () => {
        throw new Error('A connected resource is read by its server');
      },
    },
    audience,
    template,
    isBuiltIn: false,
    connected: { entry, read, subscribe: (at) => server.subscribe(at) },
  };
}

/** Makes a session's prompt from a prompt of a connected server. */
export function toConnectedPrompt(server: ConnectedServer, { original, entry }: Connected<Prompt>): SessionPrompt {
  return {
    audience: server.definition.audience,
    entry,
    completers: new Map(
      (entry.arguments ?? []).map(({ name }) => [
        name,
        toCompleter(server, { type: 'ref/prompt', name: original }, name),
      ]),
    ),
    get: (args, request) =>
      orProtocolAnswer(server, `The prompt ${entry.name}`, request, async () => {
        const { signal } = request.context;
        const result = await server.use((client) => client.getPrompt(original, args, request.context), signal);
        assertFit(result);
        return withoutReservedMeta(result);
      }),
  };
}

/** Completes with the suggestions of the connected server. Empty if it has none. */
function toCompleter(server: ConnectedServer, ref: CompletionParams['ref'], name: string): Completer {
  return async (value, { arguments: given, signal }) => {
    const params = { ref, argument: { name, value }, context: { arguments: { ...given } } };
    return (await server.use((client) => client.complete(params, signal), signal)).values;
  };
}

/** Checks arguments with the server's schema. If the schema cannot be compiled, only the server checks them. */
function issuesOf({ inputSchema }: Tool, args: JsonObject): readonly SchemaIssue[] {
  // Asynchronous schemas are skipped, because their validation would return a promise.
  if ('$async' in inputSchema) return [];
  try {
    return validateJsonSchema(inputSchema as JsonSchema, args);
  } catch {
    return [];
  }
}

function assertFit(result: unknown): void {
  if (isTooDeep(result)) throw new UnfitAnswer(`nested more than ${MAX_JSON_DEPTH} deep`);
  if (JSON.stringify(result).length > MAX_RESULT_LENGTH) {
    throw new UnfitAnswer(`longer than ${MAX_RESULT_LENGTH / 1024 / 1024} MiB`);
  }
}

class UnfitAnswer extends Error {}

function toFailure(
  { label }: ConnectedServer,
  tool: string,
  error: unknown,
  request: EnvironmentRequest,
): CallToolResult {
  // These messages include the server's own checks of the arguments, so the agent can correct itself.
  if (isToolError(error) || ProtocolError.isInstance(error)) return toFailedCall(messageOf(error));
  // Nothing is reported if the call was cancelled or its session has ended.
  if (!request.context.signal.aborted) request.reportFailure(`The tool ${tool}`, error);
  if (error instanceof UnfitAnswer) return toFailedCall(`${label} gave an answer that is ${error.message}`);
  return toFailedCall(`The tool ${tool} failed: ${label} gave no usable answer`);
}

async function orProtocolAnswer<Result>(
  { label }: ConnectedServer,
  what: string,
  request: EnvironmentRequest,
  run: () => Promise<Result>,
): Promise<Result> {
  try {
    return await run();
  } catch (error) {
    if (ProtocolError.isInstance(error)) {
      const isCallersFault = error.code === ProtocolErrorCode.InvalidParams || error.code === RESOURCE_NOT_FOUND;
      const code = isCallersFault ? ProtocolErrorCode.InvalidParams : ProtocolErrorCode.InternalError;
      throw new ProtocolError(code, error.message);
    }
    if (isToolError(error)) throw new ProtocolError(ProtocolErrorCode.InternalError, error.message);
    request.reportFailure(what, error);
    throw new ProtocolError(ProtocolErrorCode.InternalError, `${what} failed: ${label} gave no usable answer`);
  }
}

/** The code for an unknown resource in the revisions with sessions. */
const RESOURCE_NOT_FOUND = -32_002;
