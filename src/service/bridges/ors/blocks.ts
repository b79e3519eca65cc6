import type { ContentBlock } from '../../../contract/chat.ts';
import { readableText } from '../../../contract/content-text.ts';
import type { SetupResult } from '../../../contract/scenario.ts';
import type { CallOutcome } from '../episode.ts';

type Block =
  | { readonly text: string; readonly detail: null; readonly type: 'text' }
  | { readonly data: string; readonly mimeType: string; readonly detail: null; readonly type: 'image' };

/** The result of a call, as clients read it after they have joined its chunks. */
export type CallReply =
  | {
      readonly ok: true;
      readonly output: {
        readonly blocks: readonly Block[];
        readonly metadata: null;
        readonly reward: number | null;
        readonly finished: boolean;
      };
    }
  | { readonly ok: false; readonly error: string };

/** The task as blocks: the system text, then the messages. */
export function toPromptBlocks({ system, prompt }: SetupResult): readonly Block[] {
  const told = prompt.flatMap(({ content }) => (typeof content === 'string' ? [toText(content)] : toBlocks(content)));
  return system === null ? told : [toText(system), ...told];
}

/** Converts the outcome of a call. An error of a tool is a result too: the agent reads it. */
export function toCallReply(outcome: CallOutcome): CallReply {
  if (outcome.kind === 'refused') return { ok: false, error: outcome.message };
  const blocks = toBlocks(outcome.result.content);
  const isFinished = outcome.kind === 'finished';
  return {
    ok: true,
    output: {
      blocks: outcome.result.is_error ? asError(blocks) : blocks,
      metadata: null,
      reward: isFinished ? outcome.reward : null,
      finished: isFinished,
    },
  };
}

function toBlocks(content: readonly ContentBlock[]): readonly Block[] {
  return content.map((block) => {
    const { type, data, mimeType } = block;
    if (type === 'image' && typeof data === 'string' && typeof mimeType === 'string') {
      return { data, mimeType, detail: null, type };
    }
    return toText(type === 'text' ? String(block.text) : readableText([block]));
  });
}

function asError(blocks: readonly Block[]): readonly Block[] {
  const [first, ...rest] = blocks;
  if (first?.type !== 'text') return [toText('Error: '), ...blocks];
  return [toText(`Error: ${first.text}`), ...rest];
}

function toText(text: string): Block {
  return { text, detail: null, type: 'text' };
}
