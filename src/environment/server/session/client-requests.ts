import {
  CLIENT_CAPABILITIES_META_KEY,
  type CreateMessageRequestParamsBase,
  type InputRequest,
  isSpecType,
  MissingRequiredClientCapabilityError,
  type ServerContext,
} from '@modelcontextprotocol/server';
import { isJsonObject } from '../../../contract/json.ts';
import { validateJsonSchema } from '../../../support/schema/json-schema.ts';
import type {
  ClientOffer,
  ElicitAnswer,
  ElicitRequest,
  Root,
  SampleAnswer,
  SampleRequest,
  ToolContext,
} from '../../authoring/definition.ts';
import type { Meta } from '../audience.ts';
import { toMcpMessages } from './mcp-messages.ts';
import { askJudge } from './scenarios/judge-question.ts';
import type { SessionServer } from './session-server.ts';

/** Milliseconds. A person, or a model with a queue, may need some time. */
export const ANSWER_TIMEOUT_MS = 600_000;

/** The parts of the context with which author code asks the client and its user. */
export type ClientRequests = Pick<ToolContext, 'capabilities' | 'elicit' | 'sample' | 'judge' | 'roots'>;

/** One question for the client: its request, and a function that reads the answer. */
export interface Question<Answer> {
  readonly capability: keyof ClientOffer;
  readonly request: InputRequest;
  /** Reads the answer. Undefined if it does not answer the question, which is then asked again. */
  read(response: unknown): Answer | undefined;
}

/** Sends questions as requests of the server while the client's request is open. For the revisions with sessions. */
export function createClientRequests(mcp: ServerContext, server: SessionServer): ClientRequests {
  const options = { relatedRequestId: mcp.mcpReq.id, signal: mcp.mcpReq.signal, timeout: ANSWER_TIMEOUT_MS };
  const capabilities = capabilitiesOf(mcp, server);
  const assertOffered = (capability: keyof ClientOffer) => {
    if (!capabilities[capability]) throw new Error(`This client does not offer ${capability}`);
  };
  const sample: ClientRequests['sample'] = async (request) => {
    assertOffered('sampling');
    const { role, content, model } = await server.createMessage(toSampleParams(request), options);
    return { role, content: { ...content }, model };
  };
  return {
    capabilities,
    async elicit(request) {
      assertOffered('elicitation');
      const { action, content } = await server.elicitInput(toElicitParams(request), options);
      // The SDK checks the content against the schema, but not whether there is content.
      if (action === 'accept' && content === undefined) assertNothingIsRequired(request);
      return { action, ...(content === undefined ? {} : { content: { ...content } }) };
    },
    sample,
    judge: (question) => askJudge(sample, question),
    async roots() {
      assertOffered('roots');
      return (await server.listRoots({}, options)).roots.map(toRoot);
    },
  };
}

/** Capabilities of a request's client. On MCP 2026-07-28 each request contains them; before that, the handshake. */
function capabilitiesOf(mcp: ServerContext, server: SessionServer): ClientOffer {
  const envelope: Meta | undefined = mcp.mcpReq.envelope;
  const declared = envelope === undefined ? server.getClientCapabilities() : envelope[CLIENT_CAPABILITIES_META_KEY];
  const has = (name: keyof ClientOffer) => isJsonObject(declared) && declared[name] !== undefined;
  return { elicitation: has('elicitation'), sampling: has('sampling'), roots: has('roots') };
}

/** The error of MCP 2026-07-28 for a request that needs a capability which its client has not declared. */
export function missingCapability(capability: keyof ClientOffer): Error {
  const requiredCapabilities = { [capability]: {} };
  return new MissingRequiredClientCapabilityError(
    { requiredCapabilities },
    `This request needs a client that offers ${capability}`,
  );
}

export function isMissingCapability(error: unknown): boolean {
  return error instanceof MissingRequiredClientCapabilityError;
}

export function elicitQuestion(request: ElicitRequest): Question<ElicitAnswer> {
  const { requestedSchema } = request;
  return {
    capability: 'elicitation',
    request: { method: 'elicitation/create', params: toElicitParams(request) },
    read(response) {
      if (!isSpecType.ElicitResult(response)) return undefined;
      const { action, content } = response;
      if (action === 'accept' && validateJsonSchema(requestedSchema, content ?? {}).length > 0) return undefined;
      return { action, ...(content === undefined ? {} : { content: { ...content } }) };
    },
  };
}

export function sampleQuestion(request: SampleRequest): Question<SampleAnswer> {
  return {
    capability: 'sampling',
    request: { method: 'sampling/createMessage', params: toSampleParams(request) },
    read(response) {
      if (!isSpecType.CreateMessageResult(response)) return undefined;
      const { role, content, model } = response;
      return { role, content: { ...content }, model };
    },
  };
}

export function rootsQuestion(): Question<readonly Root[]> {
  return {
    capability: 'roots',
    request: { method: 'roots/list', params: {} },
    read: (response) => (isSpecType.ListRootsResult(response) ? response.roots.map(toRoot) : undefined),
  };
}

/** @throws Error if the schema requires an answer. */
function assertNothingIsRequired({ requestedSchema }: ElicitRequest): void {
  const [issue] = validateJsonSchema(requestedSchema, {});
  if (issue !== undefined) throw new Error(`The client accepted without an answer: ${issue.path} ${issue.message}`);
}

type ElicitParams = Extract<Parameters<SessionServer['elicitInput']>[0], { readonly requestedSchema: unknown }>;

function toElicitParams({ message, requestedSchema }: ElicitRequest): ElicitParams {
  // The author's schema may be any JSON Schema. The client refuses those parts that it cannot ask for.
  return { message, requestedSchema: requestedSchema as unknown as ElicitParams['requestedSchema'] };
}

function toSampleParams({ messages, maxTokens, systemPrompt, meta }: SampleRequest): CreateMessageRequestParamsBase {
  return {
    messages: toMcpMessages(messages) as CreateMessageRequestParamsBase['messages'],
    maxTokens,
    ...(systemPrompt === undefined ? {} : { systemPrompt }),
    ...(meta === undefined ? {} : { _meta: { ...meta } }),
  };
}

function toRoot({ uri, name }: { readonly uri: string; readonly name?: string | undefined }): Root {
  return { uri, ...(name === undefined ? {} : { name }) };
}
