import { createHash, randomBytes } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { AgentToolEntry, ToolResult } from '../client/environment-client.ts';
import type { AssistantMessage } from '../contract/chat.ts';
import { isJsonObject, type Json, type JsonObject } from '../contract/json.ts';
import { SUBMIT_ANSWER } from '../contract/seat.ts';
import type { LedgerEntry } from '../contract/trace.ts';
import { type ReportedToolResult, readResults } from '../dialects/conversation.ts';
import type { DialectRequest } from '../dialects/dialect.ts';
import type { AskedCall } from './seat-agent.ts';
import type { SeatTools } from './seat-tools.ts';

/** Characters of a text in an entry. */
const MAX_TEXT = 8_192;
/** Entries of a run. */
const MAX_ENTRIES = 1_000;
/** Calls that are remembered until their result is reported. */
const MAX_CALLS = 5_000;

/** A call that a model asked for. */
interface Asked {
  readonly step: number;
  readonly id: string;
  readonly name: string;
  readonly args: JsonObject;
  isCalled: boolean;
  result: ToolResult | undefined;
}

/**
 * Compares what the models of an agent ask for with what the agent calls, and what it tells them with what it was given.
 * Differences are noted and judged by nobody.
 */
export class Ledger {
  readonly #tools: SeatTools;
  readonly #entries: ReadonlyMap<string, AgentToolEntry>;
  readonly #note: (entry: LedgerEntry) => void;
  /** In the order in which they were asked for, until their results are reported. */
  readonly #open = new Map<string, Asked>();
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

  /** A model has answered. @returns whether it calls tools that are not the seat's. */
  responded(step: number, branch: string | null, message: AssistantMessage, { names }: DialectRequest): boolean {
    if (branch === null) this.#lastMainStep = step;
    let hasOwn = false;
    for (const call of message.tool_calls) {
      const name = this.#tools.bareName(names.toOwn(call.name));
      if (name === undefined) hasOwn = true;
      else if (this.#open.size < MAX_CALLS) {
        // Some gateways give one id twice.
        const key = this.#open.has(call.id) ? `${call.id} ${randomBytes(4).toString('hex')}` : call.id;
        this.#open.set(key, { step, id: call.id, name, args: call.arguments, isCalled: false, result: undefined });
      }
    }
    return hasOwn;
  }

  /** The call of a model that a call over MCP follows; undefined where none fits. */
  match(name: string, args: JsonObject): (AskedCall & { returned(result: ToolResult): void }) | undefined {
    const schema = this.#entries.get(name)?.input_schema;
    const isFit = (asked: Asked) =>
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

  /** A call over MCP that no model has asked for. */
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

  /** A request to a model reports results, those of earlier steps among them. */
  reported(request: DialectRequest): void {
    if (this.#open.size === 0) return;
    for (const reported of readResults(request)) {
      const found = [...this.#open].find(([, asked]) => this.#isOf(asked, reported));
      if (found === undefined) continue;
      const [key, asked] = found;
      // Its agent may have asked for something else meanwhile.
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

  /** The run is over: what was asked for and not called is noted. */
  end(): void {
    for (const { step, id, name, args, isCalled } of this.#open.values()) {
      if (isCalled) continue;
      this.#add({ step, tool_call_id: id, kind: 'not_called', name, expected: JSON.stringify(args), reported: null });
    }
    this.#open.clear();
  }

  #isOf(asked: Asked, { tool_call_id, own_name }: ReportedToolResult): boolean {
    return asked.id === tool_call_id && this.#tools.bareName({ own_name }) === asked.name;
  }

  #add(entry: LedgerEntry): void {
    this.#noted += 1;
    if (this.#noted > MAX_ENTRIES) return;
    this.#note({ ...entry, expected: cut(entry.expected), reported: cut(entry.reported) });
  }
}

/** The same arguments, aside from defaults of the tool and from what the client of an agent puts there for itself. */
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
    // Some agents put results into JSON.
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

/** In chat completions the images of a result come in a message of their own. */
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
