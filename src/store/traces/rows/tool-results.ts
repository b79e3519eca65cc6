import type { EventOf } from '../../../contract/service/event.ts';
import type { ToolResultRecord } from '../../../contract/service/trace.ts';

/** The tool calls of an attempt with their results, by step and in the order of the calls. */
export class ToolResults {
  readonly #steps = new Map<number, Call[]>();
  #calls = 0;

  /** Number of calls, with or without a result. */
  get calls(): number {
    return this.#calls;
  }

  called(call: EventOf<'tool.called'>): void {
    this.#calls++;
    this.#callsOf(call.step).push({ call, result: undefined });
  }

  /**
   * Assigns a result to its call. Results may arrive in another order, and two calls of a step may have the same id.
   */
  responded(result: EventOf<'tool.responded'>): void {
    const calls = this.#callsOf(result.step);
    const open = calls.find(
      ({ call, result: known }) => known === undefined && call.tool_call_id === result.tool_call_id,
    );
    if (open !== undefined) open.result = result;
  }

  /** Results of the step's calls. Calls that are still running are left out. */
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
