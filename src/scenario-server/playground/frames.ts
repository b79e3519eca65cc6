import type { ContentBlock } from '../../contract/chat.ts';
import type { JsonSchema } from '../../contract/json.ts';
import type { PromptMessage } from '../../contract/scenario.ts';
import type { SessionStatus } from '../../contract/session.ts';
import type { PlayedTurn } from '../play-turn.ts';

/** What the page of the playground reads of a session, one JSON object for each thing that it shows. */
export type Frame =
  | { readonly type: 'session'; readonly session_id: string; readonly trace_url: string; readonly model: string }
  | {
      readonly type: 'prompt';
      readonly system: string | null;
      readonly messages: readonly { readonly role: string; readonly text: string }[];
      /** True where an answer is text; else it is JSON of the scenario's schema. */
      readonly has_text_answer: boolean;
      /** Null where any text will do. */
      readonly answer_schema: JsonSchema | null;
    }
  /** What the caller said; a page that is loaded anew has not got it. */
  | { readonly type: 'message'; readonly role: string; readonly text: string }
  /** The model begins a response. */
  | { readonly type: 'step'; readonly step: number }
  | { readonly type: 'text' | 'reasoning'; readonly text: string }
  | { readonly type: 'tool_call'; readonly id: string; readonly name: string; readonly arguments: object }
  | ToolResultFrame
  | { readonly type: 'answered'; readonly finish_reason: PlayedTurn['finishReason']; readonly steps: number }
  | { readonly type: 'failed'; readonly message: string; readonly status: SessionStatus };

interface ToolResultFrame {
  readonly type: 'tool_result';
  readonly id: string;
  readonly text: string;
  readonly images: readonly { readonly type: string; readonly data: string }[];
  readonly is_error: boolean;
  readonly duration_ms: number;
}

/** A tool's answer, as an event or a trace has it. */
export function toToolResultFrame(result: {
  readonly tool_call_id: string;
  readonly content: readonly ContentBlock[];
  readonly is_error: boolean;
  readonly duration_ms: number;
}): ToolResultFrame {
  const { tool_call_id: id, content, is_error, duration_ms } = result;
  return { type: 'tool_result', id, ...splitContent(content), is_error, duration_ms };
}

/** Text, and the images that are small enough to be in the event itself; the trace has the others. */
function splitContent(content: readonly ContentBlock[]): Pick<ToolResultFrame, 'text' | 'images'> {
  const images: { readonly type: string; readonly data: string }[] = [];
  const texts = content.flatMap((block) => {
    if (typeof block.text === 'string') return [block.text];
    const { mimeType: type, data } = block;
    if (block.type !== 'image' || typeof type !== 'string' || typeof data !== 'string') return [`[${block.type}]`];
    if (!/^[\w+/]+=*$/.test(data)) return [`[${type}, to be seen in the trace]`];
    images.push({ type, data });
    return [];
  });
  return { text: texts.join('\n'), images };
}

/** A message, its images named. */
export function toMessage({ role, content }: PromptMessage): { readonly role: string; readonly text: string } {
  if (typeof content === 'string') return { role, text: content };
  const parts = content.map((part) =>
    part.type === 'text' ? part.text : `[${part.mimeType}, to be seen in the trace]`,
  );
  return { role, text: parts.join('\n') };
}
