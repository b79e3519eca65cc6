import { createHash, randomBytes } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { AssistantMessage } from '../../../contract/chat.ts';
import { isJsonObject, type Json, type JsonObject } from '../../../contract/json.ts';
import { SUBMIT_ANSWER } from '../../../contract/service/seat.ts';
import type { LedgerEntry } from '../../../contract/service/trace.ts';
import type { AgentToolEntry, ToolResult } from '../../../environment/client/environment-client.ts';
import { type ReportedToolResult, readResults } from '../../../models/dialects/conversation.ts';
import type { DialectRequest } from '../../../models/dialects/dialect.ts';
import type { CallOrigin } from '../seat-agent.ts';
import type { SeatTools } from '../seat-tools.ts';

/** Longest text of an entry, in characters. */
const MAX_TEXT = 8_192;
/** Most entries of a run. */
const MAX_ENTRIES = 1_000;
/** Most calls that wait for their result to be reported. */
const MAX_CALLS = 5_000;

/** A call that a model requested. */
interface RequestedCall {
  readonly step: number;
  readonly id: string;
  readonly name: string;
  readonly args: JsonObject;
  isCalled: boolean;
  result: ToolResult | undefined;
}

/**
 * Compares the calls that an agent's models requested with those that the agent made, and the results that it reported
 * with those that it got. Differences are only noted; nothing judges them.
 */
export class CallMatcher {
  readonly #tools: SeatTools;
  readonly #entries: ReadonlyMap<string, AgentToolEntry>;
  readonly #note: (entry: LedgerEntry) => void;
  /** Requested calls, oldest first, until their results are reported. */
  readonly #open = new Map<string, RequestedCall>();
  #lastMainStep = 0;
  #noted = 0;

  constructor(options: {
    readonly tools: SeatTools;
    readonly entries: readonly AgentToolEntry[];
    note(entry: LedgerEntry): void;
  }) {
    this.#tools = options.tools;
    this.#entries = new Map(options.entries.map((entry) => [entry.name, entry]));
    this.#note = options.note;
  }

  /** Adds the calls of a model's response. @returns true if it calls tools that do not belong to the seat. */
  responded(step: number, branch: string | null, message: AssistantMessage, { names }: DialectRequest): boolean {
    if (branch === null) this.#lastMainStep = step;
    let hasOwn = false;
    for (const call of message.tool_calls) {
      const name = this.#tools.bareName(names.toOwn(call.name));
      if (name === undefined) hasOwn = true;
      else if (this.#open.size < MAX_CALLS) {
        // Some gateways use one id for two calls.
        const key = this.#open.has(call.id) ? `${call.id} ${randomBytes(4).toString('hex')}` : call.id;
        this.#open.set(key, { step, id: call.id, name, args: call.arguments, isCalled: false, result: undefined });
      }
    }
    return hasOwn;
  }

  /** Finds the model's call that an MCP call carries out; undefined if none fits. */
  match(name: string, args: JsonObject): (CallOrigin & { returned(result: ToolResult): void }) | undefined {
    const schema = this.#entries.get(name)?.input_schema;
    const isFit = (asked: RequestedCall) =>
      !asked.isCalled && asked.name === name && (name === SUBMIT_ANSWER || areEqual(asked.args, args, schema));
    const asked = [...this.#open.values()].find(isFit);
    if (asked === undefined) return undefined;
    asked.isCalled = true;
    return {
      step: asked.step,
      id: asked.id,
      returned: (result) => {
        asked.result = result;
      },
    };
  }

  /** Notes an MCP call that no model requested. */
  notAskedFor(id: string, name: string, args: JsonObject, result: ToolResult): void {
    const expected = textOf(result);
    this.#add({
      step: this.#lastMainStep,
      tool_call_id: id,
      kind: 'not_asked_for',
      name,
      expected,
      reported: JSON.stringify(args),
    });
  }

  /** Compares the results in a model request, which has those of earlier steps, too. */
  reported(request: DialectRequest): void {
    if (this.#open.size === 0) return;
    for (const reported of readResults(request)) {
      const found = [...this.#open].find(([, asked]) => this.#isOf(asked, reported));
      if (found === undefined) continue;
      const [key, asked] = found;
      // The call still runs; the agent may have asked its model something else meanwhile.
      if (asked.isCalled && asked.result === undefined) continue;
      this.#open.delete(key);
      const { step, id, name, args, result } = asked;
      const entry = { step, tool_call_id: id, name };
      if (result === undefined) {
        this.#add({ ...entry, kind: 'not_called', expected: JSON.stringify(args), reported: reported.text });
      } else if (!isUnchanged(result, reported, request)) {
        this.#add({ ...entry, kind: 'result_changed', expected: textOf(result), reported: reported.text });
      }
    }
  }

  /** Ends the run: notes each call that was requested and not made. */
  end(): void {
    for (const { step, id, name, args, isCalled } of this.#open.values()) {
      if (isCalled) continue;
      this.#add({ step, tool_call_id: id, kind: 'not_called', name, expected: JSON.stringify(args), reported: null });
    }
    this.#open.clear();
  }

  #isOf(asked: RequestedCall, { tool_call_id, own_name }: ReportedToolResult): boolean {
    return asked.id === tool_call_id && this.#tools.bareName({ own_name }) === asked.name;
  }

  #add(entry: LedgerEntry): void {
    this.#noted += 1;
    if (this.#noted > MAX_ENTRIES) return;
    this.#note({ ...entry, expected: cut(entry.expected), reported: cut(entry.reported) });
  }
}

/** True if the arguments are equal, except for defaults of the tool and extra properties of the agent's client. */
function areEqual(asked: JsonObject, called: JsonObject, schema: AgentToolEntry['input_schema'] | undefined): boolean {
  const properties = isJsonObject(schema?.properties) ? schema.properties : {};
  const isDefault = (name: string, value: Json | undefined) => {
    const property = properties[name];
    return isJsonObject(property) && 'default' in property && isDeepStrictEqual(property.default, value);
  };
  const names = new Set([...Object.keys(asked), ...Object.keys(called)]);
  return [...names].every((name) => {
    if (name in asked && name in called) return isDeepStrictEqual(asked[name], called[name]);
    if (name in called) return isDefault(name, called[name]);
    return !(name in properties) || asked[name] === null || isDefault(name, asked[name]);
  });
}

function isUnchanged(result: ToolResult, reported: ReportedToolResult, request: DialectRequest): boolean {
  const given = withoutBlanks(reported.text);
  const holds = (text: string) => {
    // Some agents wrap results in JSON.
    const escaped = JSON.stringify(text).slice(1, -1);
    return given.includes(withoutBlanks(text)) || given.includes(withoutBlanks(escaped));
  };
  const { content, structured_content: structured } = result;
  const images = content.flatMap(({ type, data }) => (type === 'image' && typeof data === 'string' ? [data] : []));
  const shown = images.length === 0 ? new Set<string>() : new Set([...reported.imageHashes, ...imagesOf(request)]);
  const hasImages = images.every((data) => shown.has(hashOf(data)));
  const texts = content.flatMap(({ type, text }) => (type === 'text' && typeof text === 'string' ? [text] : []));
  const hasTexts = texts.every(holds);
  return (hasImages && hasTexts) || (structured !== null && holds(JSON.stringify(structured)));
}

/** In chat completions, the images of a result come in a separate message. */
function imagesOf({ messages }: DialectRequest): string[] {
  return messages.flatMap(({ role, content }) => {
    if (role !== 'user' || typeof content === 'string') return [];
    return content.flatMap((part) => (part.type === 'image' ? [hashOf(part.data)] : []));
  });
}

function hashOf(data: string): string {
  return createHash('sha256').update(data).digest('hex');
}

function withoutBlanks(text: string): string {
  return text.replaceAll(/\s+|\\[nrt]/g, '');
}

function textOf({ content, structured_content: structured }: ToolResult): string {
  const texts = content.map((block) =>
    block.type === 'text' && typeof block.text === 'string' ? block.text : `(${block.type})`,
  );
  return texts.length === 0 && structured !== null ? JSON.stringify(structured) : texts.join('\n');
}

function cut(text: string | null): string | null {
  return text !== null && text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT)}…` : text;
}
