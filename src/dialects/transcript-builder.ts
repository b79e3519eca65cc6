import type { AssistantMessage, ContentBlock, ToolCall, TranscriptMessage } from '../contract/chat.ts';
import type { ContentPart } from '../contract/scenario.ts';

/** One piece of what the model said before. */
export interface SaidPiece {
  readonly content?: string;
  readonly reasoning?: string;
  readonly refusal?: string;
  readonly call?: Omit<ToolCall, 'id'> & { readonly id?: string | undefined };
}

/** A result as an agent reports it to its model; by its call's id, or else by the name of its tool. */
export interface ReportedResult {
  readonly id?: string | undefined;
  readonly name?: string | undefined;
  readonly content: readonly ContentBlock[];
  readonly isError: boolean;
}

interface Said {
  readonly message: Mutable<AssistantMessage> & { tool_calls: ToolCall[] };
  readonly results: TranscriptMessage[];
}

type Mutable<T> = { -readonly [Key in keyof T]: T[Key] };
type Entry = { readonly other: TranscriptMessage } | { readonly said: Said };

/**
 * The messages of a request as a transcript. Pieces of the model that follow each other are one message, and each result
 * comes directly after the message with its call, whatever the agent has put between them.
 */
export class TranscriptBuilder {
  readonly #entries: Entry[] = [];
  /** Calls without a result, by id. An id may come again: the last one is meant. */
  readonly #open = new Map<string, { readonly said: Said; readonly name: string }[]>();
  #callCount = 0;

  text(role: 'system' | 'developer' | 'user', content: string | readonly ContentPart[]): void {
    this.#entries.push({ other: { role, content } });
  }

  /** Begins another message of the model, also where it has said the one before. */
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

  /** A result of which no call is known is text of the user: gateways refuse it otherwise. */
  result(result: ReportedResult): void {
    const call = this.#take(result);
    if (call === undefined) {
      this.#entries.push({ other: { role: 'user', content: toUserContent(result) } });
      return;
    }
    const { content, isError } = result;
    call.said.results.push({ role: 'tool', tool_call_id: call.id, name: call.name, content, is_error: isError });
  }

  /** Name of the tool whose call is open under this id. */
  nameOfCall(id: string): string | undefined {
    return this.#open.get(id)?.at(-1)?.name;
  }

  build(): TranscriptMessage[] {
    return this.#entries.flatMap((entry) =>
      'said' in entry ? [entry.said.message, ...entry.said.results] : [entry.other],
    );
  }

  #addCall(said: Said, { id, ...call }: NonNullable<SaidPiece['call']>): void {
    this.#callCount += 1;
    // By its place, so that the same conversation has the same ids in each request.
    const known = id === undefined || id === '' ? `call_${this.#callCount}` : id;
    said.message.tool_calls.push({ id: known, ...call });
    const open = this.#open.get(known) ?? [];
    open.push({ said, name: call.name });
    this.#open.set(known, open);
  }

  #take({ id, name }: ReportedResult): { readonly said: Said; readonly name: string; readonly id: string } | undefined {
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

function newSaid(): Said {
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
