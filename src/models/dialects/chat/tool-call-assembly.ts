import { randomBytes } from 'node:crypto';
import type { ToolCall } from '../../../contract/chat.ts';
import { isJsonObject, type Json, type JsonObject } from '../../../contract/json.ts';
import { GatewayFailure } from '../../gateway-failure.ts';
import { parseArguments, toCustomArguments } from '../call-arguments.ts';
import { textOrEmpty } from '../request-fields.ts';

/** Most calls of one response. */
const MAX_CALLS = 1_000;

/** Builds the calls of one response from the pieces that gateways send. */
export class ToolCallAssembly {
  readonly #calls: PartialCall[] = [];

  get isEmpty(): boolean {
    return this.#calls.length === 0;
  }

  get characters(): number {
    return this.#calls.reduce((sum, call) => sum + call.name.length + call.arguments.length, 0);
  }

  /** Adds one entry of `tool_calls`, complete or in part. @throws GatewayFailure for too many calls. */
  add(piece: Json): void {
    if (!isJsonObject(piece)) return;
    const custom = isJsonObject(piece.custom) ? piece.custom : undefined;
    const made = custom ?? (isJsonObject(piece.function) ? piece.function : {});
    const call = this.#find(piece, made) ?? this.#begin(piece);
    if (call.id === '') call.id = textOrEmpty(piece.id);
    if (call.name === '') call.name = textOrEmpty(made.name);
    // Some servers send the arguments as a complete object.
    call.arguments += isJsonObject(made.arguments) ? JSON.stringify(made.arguments) : textOrEmpty(made.arguments);
    if (custom !== undefined) {
      call.isCustom = true;
      call.arguments += textOrEmpty(custom.input);
    }
    for (const [field, value] of Object.entries(piece)) {
      if (!OWN_FIELDS.has(field) && value !== null) call.extra[field] = value;
    }
  }

  /** The calls in order, each with a unique id, and the provider's fields by that id. */
  finish(): { readonly calls: ToolCall[]; readonly extras: Record<string, JsonObject> } {
    const extras: Record<string, JsonObject> = {};
    const taken = new Set<string>();
    const calls = this.#calls.map((call) => {
      const id = call.id === '' || taken.has(call.id) ? `call_${randomBytes(12).toString('hex')}` : call.id;
      taken.add(id);
      if (Object.keys(call.extra).length > 0) extras[id] = call.extra;
      const args = call.isCustom ? toCustomArguments(call.arguments) : parseArguments(call.arguments);
      return { id, name: call.name, ...args };
    });
    return { calls, extras };
  }

  /**
   * The call that a piece continues: the one with its index, otherwise the one with its id, otherwise the last one. A
   * new id or name starts another call (Gemini sends no index). A new id under a known index starts another call only
   * together with a name.
   */
  #find(piece: JsonObject, made: JsonObject): PartialCall | undefined {
    const id = textOrEmpty(piece.id);
    const hasName = textOrEmpty(made.name) !== '';
    if (typeof piece.index === 'number') {
      const call = this.#calls.findLast((known) => known.index === piece.index);
      const isAnother = call !== undefined && id !== '' && call.id !== '' && call.id !== id && hasName;
      return isAnother ? undefined : call;
    }
    if (id !== '') {
      const known = this.#calls.find((call) => call.id === id);
      if (known !== undefined) return known;
    }
    return id !== '' || hasName ? undefined : this.#calls.at(-1);
  }

  #begin(piece: JsonObject): PartialCall {
    const index = typeof piece.index === 'number' ? piece.index : undefined;
    if (this.#calls.length === MAX_CALLS) {
      throw new GatewayFailure('answered', `the response has more than ${MAX_CALLS} tool calls`);
    }
    const call: PartialCall = { index, id: '', name: '', arguments: '', isCustom: false, extra: {} };
    this.#calls.push(call);
    return call;
  }
}

interface PartialCall {
  readonly index: number | undefined;
  id: string;
  name: string;
  arguments: string;
  /** True if the input is plain text. */
  isCustom: boolean;
  readonly extra: JsonObject;
}

const OWN_FIELDS: ReadonlySet<string> = new Set(['index', 'id', 'type', 'function', 'custom']);
