import type { ContentBlock } from '../../../contract/chat.ts';
import { readableText } from '../../../contract/content-text.ts';
import { isJsonObject } from '../../../contract/json.ts';
import type { ContentPart } from '../../../contract/scenario.ts';
import type { Step, ToolResultRecord } from '../../../contract/service/trace.ts';
import { withBytes } from '../addresses.ts';
import { EXTENSION, readExtension, resultExtensionSchema } from '../extension.ts';
import { openCall, type ReadContext, toArguments, toCount, toResult, toTime } from '../imported-trace.ts';
import type { ReadStep } from '../read-conversation.ts';
import { fromAtifContent } from './parts.ts';
import type { AtifContent, AtifStep } from './shapes.ts';

/** A response of an agent. @param path of the list of steps, for losses. */
export function toReadStep(step: AtifStep, path: string, context: ReadContext): ReadStep {
  const said = partsOf(step.message, `${path}.message`, context);
  const metrics = step.metrics ?? {};
  const tokens = { prompt: metrics.prompt_token_ids ?? null, completion: metrics.completion_token_ids ?? null };
  return {
    message: {
      content: readableText(said) || null,
      reasoning: step.reasoning_content ?? null,
      tool_calls: callsOf(step),
    },
    usage: {
      prompt_tokens: toCount(metrics.prompt_tokens),
      completion_tokens: toCount(metrics.completion_tokens),
      cached_tokens: toCount(metrics.cached_tokens),
      reasoning_tokens: toCount(metrics.extra?.reasoning_tokens),
      cost_usd: metrics.cost_usd ?? null,
    },
    startedAt: toTime(step.timestamp),
    tokenIds: tokens.prompt === null && tokens.completion === null ? null : tokens,
    logprobs:
      metrics.logprobs === undefined || metrics.logprobs === null ? null : { content: metrics.logprobs, refusal: null },
  };
}

/** Calls of a step. Arguments that were not JSON are in the extension of the call, or in place of its arguments. */
export function callsOf({ tool_calls: calls }: AtifStep): Step['message']['tool_calls'] {
  return (calls ?? []).map((call) => {
    const own = call.extra?.[EXTENSION];
    const raw = isJsonObject(own) && typeof own.raw_arguments === 'string' ? own.raw_arguments : null;
    const given = toArguments(call.arguments);
    return {
      id: call.tool_call_id,
      name: call.function_name,
      arguments: given.arguments,
      raw_arguments: raw ?? given.raw_arguments,
    };
  });
}

/**
 * Adds results to the calls of the step, and in files of Proctor the results of calls outside of it.
 *
 * @returns observations that answer no call. The agent received them before its next response.
 */
export function addResults(
  step: Pick<Step, 'message' | 'tool_results'>,
  { observation }: AtifStep,
  path: string,
  context: ReadContext,
): ContentPart[][] {
  const loose: ContentPart[][] = [];
  for (const result of observation?.results ?? []) {
    const field = `${path}.observation.results[]`;
    const own = readExtension(resultExtensionSchema, result.extra, `${field}.extra`, context);
    const call = openCall(step, result.source_call_id ?? '');
    if (call === undefined && own?.tool_call_id === undefined) {
      loose.push(partsOf(result.content, `${field}.content`, context));
      continue;
    }
    const blocks = blocksOf(result.content, `${field}.content`, context);
    const kept = own === undefined ? {} : withBytes(own, context.bytesAt);
    const record = toResult(call ?? { id: '', name: '' }, blocks, { raw_arguments: call?.raw_arguments ?? null });
    // The schema dropped undefined fields.
    step.tool_results.push({ ...record, ...(kept as Partial<ToolResultRecord>) });
  }
  return loose.filter((parts) => parts.length > 0);
}

/** Observations of a step that is not an agent's. They answer no call. */
export function observationsOf({ observation }: AtifStep, path: string, context: ReadContext): ContentPart[][] {
  return (observation?.results ?? [])
    .map(({ content }) => partsOf(content, `${path}.observation.results[].content`, context))
    .filter((parts) => parts.length > 0);
}

/** Content of a message as text and image parts. */
export function partsOf(given: AtifContent, field: string, context: ReadContext): ContentPart[] {
  return blocksOf(given, field, context).map((block): ContentPart => {
    const { type, data, mimeType, text: said } = block;
    if (type === 'image' && typeof data === 'string' && typeof mimeType === 'string') return { type, data, mimeType };
    return { type: 'text', text: typeof said === 'string' ? said : `[${type}]` };
  });
}

function blocksOf(given: AtifContent, field: string, { bytesAt, losses }: ReadContext): ContentBlock[] {
  return fromAtifContent(given, bytesAt, () => {
    losses.add(field, 'bytes are read from files beneath the folder of the file alone, never from addresses');
  });
}
