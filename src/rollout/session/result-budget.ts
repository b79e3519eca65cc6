import type { ContentBlock } from '../../contract/chat.ts';
import type { ToolResult } from '../../environment/client/environment-client.ts';

export interface ResultLimits {
  /** Bytes that one tool result may have as JSON. */
  readonly resultBytes: number;
  /** Bytes that all tool results of a run or session may have. Beyond it, each may still have `LEAST_BYTES`. */
  readonly traceBytes: number;
}

/** Bytes that each result may have when the total is used up. */
const LEAST_BYTES = 64 * 1_024;
const MIB = 1_024 * 1_024;

/**
 * Limits tool results to a size that stores and models can take. Model and trace get the same cut result, which says
 * what is missing.
 */
export class ResultBudget {
  readonly #limits: ResultLimits;
  #used = 0;

  constructor(limits: ResultLimits) {
    this.#limits = limits;
  }

  /** Returns the result, cut to the remaining size if necessary. */
  fit(result: ToolResult): ToolResult {
    const left = this.#limits.traceBytes - this.#used;
    const limit = Math.min(this.#limits.resultBytes, Math.max(LEAST_BYTES, left));
    const size = sizeOf(result.content) + sizeOf(result.structured_content);
    const fitted = size <= limit ? result : cut(result, limit);
    this.#used += Math.min(size, limit);
    return fitted;
  }
}

/** True if a result was cut or has a note about a part that was left out. */
export function isCutResult(content: readonly ContentBlock[]): boolean {
  return content.some(({ text }) => typeof text === 'string' && CUT_NOTE.test(text));
}

/** Matches the note at the end of a cut text, and the text in place of a block that was left out. */
const CUT_NOTE =
  /(?:^|\n)\[(?:Cut here: the text has|(?:A content block|The structured content) [^\n]* is left out:)[^\n]* a tool result may have \S+ [KM]iB here\]$/;

/** Cuts the blocks in order. The structured content comes last, because it usually repeats the text. */
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

/** Cuts a text to a number of bytes as JSON, where one UTF-8 byte may need up to six. */
function firstBytes(text: string, bytes: number): string {
  let kept = text;
  while (sizeOf(kept) > bytes && kept !== '')
    kept = kept.slice(0, Math.floor((kept.length * bytes) / (sizeOf(kept) + 1)));
  // Remove half of a surrogate pair, which is no character.
  return kept.replace(/[\ud800-\udbff]$/, '');
}

function sizeOf(value: ContentBlock | ToolResult['content'] | ToolResult['structured_content'] | string): number {
  return Buffer.byteLength(JSON.stringify(value));
}

function toMiB(bytes: number): string {
  return bytes >= MIB ? `${Math.round((bytes / MIB) * 10) / 10} MiB` : `${Math.ceil(bytes / 1_024)} KiB`;
}
