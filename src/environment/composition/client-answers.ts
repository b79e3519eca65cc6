import type {
  CreateMessageRequestParams,
  CreateMessageResult,
  ElicitRequestParams,
  ElicitResult,
} from '@modelcontextprotocol/client';
import { ProtocolError, ProtocolErrorCode } from '@modelcontextprotocol/client';
import type { JsonSchema } from '../../contract/json.ts';
import type { ContentPart, PromptMessage } from '../../contract/scenario.ts';
import type { ToolContext } from '../authoring/definition.ts';

/**
 * Passes a question of a connected server to the person behind the client.
 *
 * @throws ProtocolError if no request of the client is open, and for a question that a form cannot ask; errors of the
 *   client's answer.
 */
export async function answerElicitation(
  params: ElicitRequestParams,
  context: ToolContext | undefined,
): Promise<ElicitResult> {
  if (!('requestedSchema' in params)) throw unsupported('Only elicitation by a form is passed on here');
  const requestedSchema = params.requestedSchema as JsonSchema;
  const { action, content } = await (context ?? noRequest()).elicit({ message: params.message, requestedSchema });
  return { action, ...(content === undefined ? {} : { content: content as NonNullable<ElicitResult['content']> }) };
}

/**
 * Passes a sampling request of a connected server to the client's model. Settings such as temperature, model
 * preferences and context are not passed on.
 *
 * @throws ProtocolError if no request of the client is open, and for messages that are neither text nor images.
 */
export async function answerSampling(
  params: CreateMessageRequestParams,
  context: ToolContext | undefined,
): Promise<CreateMessageResult> {
  const { maxTokens, systemPrompt } = params;
  const { role, content, model } = await (context ?? noRequest()).sample({
    messages: params.messages.map(toPromptMessage),
    maxTokens,
    ...(systemPrompt === undefined ? {} : { systemPrompt }),
  });
  // The cast is safe because the SDK has checked the answer against the schema of a sampling result.
  return { role, content, model } as CreateMessageResult;
}

function toPromptMessage({ role, content }: CreateMessageRequestParams['messages'][number]): PromptMessage {
  const parts = [content].flat().map((part): ContentPart => {
    if (part.type === 'text') return { type: 'text', text: part.text };
    if (part.type === 'image') return { type: 'image', data: part.data, mimeType: part.mimeType };
    throw unsupported(`Messages with a part of the type ${part.type} are not passed on here`);
  });
  return { role, content: parts };
}

function noRequest(): never {
  throw unsupported('No request of the client is open that this could be asked in');
}

function unsupported(message: string): ProtocolError {
  return new ProtocolError(ProtocolErrorCode.InvalidRequest, message);
}
