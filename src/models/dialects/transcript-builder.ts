import type { AssistantMessage, ContentBlock, ToolCall, TranscriptMessage } from '../../contract/chat.ts';
import type { ContentPart } from '../../contract/scenario.ts';

/** One piece of the model's earlier output. */
export interface SaidPiece {
  readonly content?: string;
  readonly reasoning?: string;
  readonly refusal?: string;
  readonly call?: Omit<ToolCall, 'id'> & { readonly id?: string | undefined };
}

/** A result in a request, identified by its call's id or else by the name of its tool. */
export interface ReportedResult {
  readonly id?: string | undefined;
  readonly name?: string | undefined;
  readonly content: readonly ContentBlock[];
  readonly isError: boolean;
}

interface AssistantEntry {
  readonly message: Mutable<AssistantMessage> & { tool_calls: ToolCall[] };
  readonly results: TranscriptMessage[];
}

type Mutable<T> = { -readonly [Key in keyof T]: T[Key] };
type Entry = { readonly other: TranscriptMessage } | { readonly said: AssistantEntry };

/**
 * Builds a transcript from the messages of a request. Consecutive output of the model becomes one message. Each result
 * directly follows the message with its call, even if the agent put something in between.
 */
export class TranscriptBuilder {
  /** Results without a known call, as user messages. */
  readonly lostResults: TranscriptMessage[] = [];
  readonly #entries: Entry[] = [];
  /** Calls without a result, by id. If an id is repeated, the last call counts. */
  readonly #open = new Map<string, { readonly said: AssistantEntry; readonly name: string }[]>();
  #callCount = 0;

  text(role: 'system' | 'developer' | 'user', content: string | readonly ContentPart[]): void {
    this.#entries.push({ other: { role, content } });
  }

  /** Begins a new message of the model. */
  beginMessage(): void {
    this.#entries.push({ said: newSaid() });
  }

  said(piece: SaidPiece): void {
    const last = this.#entries.at(-1);
    const said = last !== undefined && 'said' in last && last.said.results.length === 0 ? last.said : newSaid();
    if (last === undefined || !('said' in last) || last.said !== said) this.#entries.push({ said });
    const { message } = said;
    if (piece.content !== undefined) message.content = (message.content ?? '') + piece.content;
    if (piece.reasoning !== undefined) message.reasoning = (message.reasoning ?? '') + piece.reasoning;
    if (piece.refusal !== undefined) message.refusal = (message.refusal ?? '') + piece.refusal;
    if (piece.call !== undefined) this.#addCall(said, piece.call);
  }

  /** Adds a result. Without a known call it becomes a user message, because gateways refuse it otherwise. */
  result(result: ReportedResult): void {
    const call = this.#take(result);
    if (call === undefined) {
      const other = { role: 'user', content: toUserContent(result) } as const;
      this.lostResults.push(other);
      this.#entries.push({ other });
      return;
    }
    const { content, isError } = result;
    call.said.results.push({ role: 'tool', tool_call_id: call.id, name: call.name, content, is_error: isError });
  }

  /** Name of the tool in the open call with this id. */
  nameOfCall(id: string): string | undefined {
    return this.#open.get(id)?.at(-1)?.name;
  }

  build(): TranscriptMessage[] {
    return this.#entries.flatMap((entry) =>
      'said' in entry ? [entry.said.message, ...entry.said.results] : [entry.other],
    );
  }

  #addCall(said: AssistantEntry, { id, ...call }: NonNullable<SaidPiece['call']>): void {
    this.#callCount += 1;
    // Numbered by position, so that a conversation has the same ids in each request.
    const known = id === undefined || id === '' ? `call_${this.#callCount}` : id;
    said.message.tool_calls.push({ id: known, ...call });
    const open = this.#open.get(known) ?? [];
    open.push({ said, name: call.name });
    this.#open.set(known, open);
  }

  #take({
    id,
    name,
  }: ReportedResult): { readonly said: AssistantEntry; readonly name: string; readonly id: string } | undefined {
    const known = id !== undefined && id !== '' ? id : this.#firstOpen(name);
    const open = known === undefined ? undefined : this.#open.get(known);
    const call = open?.pop();
    if (known === undefined || open === undefined || call === undefined) return undefined;
    if (open.length === 0) this.#open.delete(known);
    return { ...call, id: known };
  }

  #firstOpen(name: string | undefined): string | undefined {
    for (const [id, calls] of this.#open) if (calls.some((call) => call.name === name)) return id;
    return undefined;
  }
}

function newSaid(): AssistantEntry {
  return { message: { role: 'assistant', content: null, reasoning: null, tool_calls: [] }, results: [] };
}

function toUserContent({ name, id, content }: ReportedResult): ContentPart[] {
  const parts = content.flatMap((block): ContentPart[] => {
    if (block.type === 'image' && typeof block.data === 'string' && typeof block.mimeType === 'string') {
      return [{ type: 'image', data: block.data, mimeType: block.mimeType }];
    }
    return typeof block.text === 'string' ? [{ type: 'text', text: block.text }] : [];
  });
  return [{ type: 'text', text: `Result of ${name ?? `the call ${id ?? 'before'}`}:` }, ...parts];
}
