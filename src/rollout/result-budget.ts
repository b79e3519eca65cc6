import type { ToolResult } from '../client/environment-client.ts';
import type { ContentBlock } from '../contract/chat.ts';

export interface ResultLimits {
  /** Bytes of one tool result, as JSON. */
  readonly resultBytes: number;
  /** Bytes of all tool results of a run or a session; beyond it each has but `LEAST_BYTES`. */
  readonly traceBytes: number;
}

/** Bytes of a result when the others have used up the trace's share. */
const LEAST_BYTES = 64 * 1_024;
const MIB = 1_024 * 1_024;

/**
 * Keeps what tools answer to a size that stores and models can take: the result that is cut is what the model is shown
 * and what the trace keeps, and it says what is missing.
 */
export class ResultBudget {
  readonly #limits: ResultLimits;
  #used = 0;

  constructor(limits: ResultLimits) {
    this.#limits = limits;
  }

  /** The result, or as much of it as there is room for. */
  fit(result: ToolResult): ToolResult {
    const left = this.#limits.traceBytes - this.#used;
    const limit = Math.min(this.#limits.resultBytes, Math.max(LEAST_BYTES, left));
    const size = sizeOf(result.content) + sizeOf(result.structured_content);
    const fitted = size <= limit ? result : cut(result, limit);
    this.#used += Math.min(size, limit);
    return fitted;
  }
}

/** Whether a result is one that was cut, or says that a part of it was left out. */
export function isCutResult(content: readonly ContentBlock[]): boolean {
  return content.some(({ text }) => typeof text === 'string' && CUT_NOTE.test(text));
}

/** Ends the text of a block that was cut, and is the text of one that was left out. */
const CUT_NOTE =
  /(?:^|\n)\[(?:Cut here: the text has|(?:A content block|The structured content) [^\n]* is left out:)[^\n]* a tool result may have \S+ [KM]iB here\]$/;

/** In the order of the blocks; the structured content, which as a rule says the same again, comes last. */
function cut(result: ToolResult, limit: number): ToolResult {
  let left = limit;
  const content: ContentBlock[] = [];
  for (const block of result.content) {
    const fitted = sizeOf(block) <= left ? block : cutBlock(block, left, limit);
    content.push(fitted);
    left = Math.max(0, left - sizeOf(fitted));
  }
  const structuredSize = sizeOf(result.structured_content);
  if (result.structured_content === null || structuredSize <= left) return { ...result, content };
  const note = `[The structured content of ${toMiB(structuredSize)} is left out: ${allowance(limit)}]`;
  return { ...result, structured_content: null, content: [...content, { type: 'text', text: note }] };
}

function cutBlock(block: ContentBlock, left: number, limit: number): ContentBlock {
  const size = toMiB(sizeOf(block));
  if (block.type !== 'text' || typeof block.text !== 'string') {
    return {
      type: 'text',
      text: `[A content block of type ${block.type} of ${size} is left out: ${allowance(limit)}]`,
    };
  }
  const kept = firstBytes(block.text, left);
  return { ...block, text: `${kept}\n[Cut here: the text has ${size}, and ${allowance(limit)}]` };
}

function allowance(limit: number): string {
  return `a tool result may have ${toMiB(limit)} here`;
}

/** JSON needs up to six bytes for what is one in UTF-8. */
function firstBytes(text: string, bytes: number): string {
  let kept = text;
  while (sizeOf(kept) > bytes && kept !== '')
    kept = kept.slice(0, Math.floor((kept.length * bytes) / (sizeOf(kept) + 1)));
  // Half of a pair of surrogates is no character.
  return kept.replace(/[\ud800-\udbff]$/, '');
}

function sizeOf(value: ContentBlock | ToolResult['content'] | ToolResult['structured_content'] | string): number {
  return Buffer.byteLength(JSON.stringify(value));
}

function toMiB(bytes: number): string {
  return bytes >= MIB ? `${Math.round((bytes / MIB) * 10) / 10} MiB` : `${Math.ceil(bytes / 1_024)} KiB`;
}
