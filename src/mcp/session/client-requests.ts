import {
  CLIENT_CAPABILITIES_META_KEY,
  type CreateMessageRequestParamsBase,
  type InputRequest,
  isSpecType,
  MissingRequiredClientCapabilityError,
  type ServerContext,
} from '@modelcontextprotocol/server';
import { isJsonObject } from '../../contract/json.ts';
import type {
  ClientOffer,
  ElicitAnswer,
  ElicitRequest,
  Root,
  SampleAnswer,
  SampleRequest,
  ToolContext,
} from '../../environment/definition.ts';
import { validateJsonSchema } from '../../schema/json-schema.ts';
import type { Meta } from '../audience.ts';
import { askJudge } from './judge-question.ts';
import { toMcpMessages } from './mcp-messages.ts';
import type { SessionServer } from './session-server.ts';

/** Milliseconds. A person, or a model with a queue, may take their time. */
export const ANSWER_TIMEOUT_MS = 600_000;

/** Requests of author code to the client and its user. */
export type ClientRequests = Pick<ToolContext, 'capabilities' | 'elicit' | 'sample' | 'judge' | 'roots'>;

/** One question for the client: how it goes over the wire, and how its answer is read. */
export interface Question<Answer> {
  readonly capability: keyof ClientOffer;
  readonly request: InputRequest;
  /** Undefined for what does not answer the question, which is then asked again. */
  read(response: unknown): Answer | undefined;
}

/** Real requests of the server, while the client's own one is open: on the session-based revisions. */
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
      // The SDK compares what there is with the schema, not that there is anything.
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

/** Capabilities of a request's client: on 2026-07-28 each request carries them, before that the handshake did. */
function capabilitiesOf(mcp: ServerContext, server: SessionServer): ClientOffer {
  const envelope: Meta | undefined = mcp.mcpReq.envelope;
  const declared = envelope === undefined ? server.getClientCapabilities() : envelope[CLIENT_CAPABILITIES_META_KEY];
  const has = (name: keyof ClientOffer) => isJsonObject(declared) && declared[name] !== undefined;
  return { elicitation: has('elicitation'), sampling: has('sampling'), roots: has('roots') };
}

/** The error of 2026-07-28 for a request that needs a capability which its client has not declared. */
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

/** @throws Error */
function assertNothingIsRequired({ requestedSchema }: ElicitRequest): void {
  const [issue] = validateJsonSchema(requestedSchema, {});
  if (issue !== undefined) throw new Error(`The client accepted without an answer: ${issue.path} ${issue.message}`);
}

type ElicitParams = Extract<Parameters<SessionServer['elicitInput']>[0], { readonly requestedSchema: unknown }>;

function toElicitParams({ message, requestedSchema }: ElicitRequest): ElicitParams {
  // The author's schema is any JSON Schema; the client says what of it it cannot ask for.
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
