import type { EventOf } from '../contract/event.ts';
import type { ToolResultRecord } from '../contract/trace.ts';

/** The tool calls of an attempt, each with its result, by step and in the order of the calls. */
export class ToolResults {
  readonly #steps = new Map<number, Call[]>();
  #calls = 0;

  /** Calls that were made, answered or not. */
  get calls(): number {
    return this.#calls;
  }

  called(call: EventOf<'tool.called'>): void {
    this.#calls++;
    this.#callsOf(call.step).push({ call, result: undefined });
  }

  /** Results may come in another order than their calls, and a model may give two calls of a step one id. */
  responded(result: EventOf<'tool.responded'>): void {
    const calls = this.#callsOf(result.step);
    const open = calls.find(
      ({ call, result: known }) => known === undefined && call.tool_call_id === result.tool_call_id,
    );
    if (open !== undefined) open.result = result;
  }

  /** Results of the step's calls; a call that still runs has none. */
  of(step: number): ToolResultRecord[] {
    return (this.#steps.get(step) ?? []).flatMap(({ call, result }) =>
      result === undefined ? [] : [toRecord(call, result)],
    );
  }

  #callsOf(step: number): Call[] {
    const known = this.#steps.get(step);
    if (known !== undefined) return known;
    const calls: Call[] = [];
    this.#steps.set(step, calls);
    return calls;
  }
}

interface Call {
  readonly call: EventOf<'tool.called'>;
  result: EventOf<'tool.responded'> | undefined;
}

function toRecord(call: EventOf<'tool.called'>, result: EventOf<'tool.responded'>): ToolResultRecord {
  return {
    tool_call_id: call.tool_call_id,
    name: call.name,
    arguments: call.arguments,
    raw_arguments: call.raw_arguments,
    content: result.content,
    structured_content: result.structured_content,
    is_error: result.is_error,
    duration_ms: result.duration_ms,
  };
}
