import type { EventOf, TraceEvent } from '../../../contract/service/event.ts';
import type { Trace } from '../../../contract/service/trace.ts';

type SandboxFields = NonNullable<Trace['sandboxes']>[number];

/** Refused destinations that a trace lists of each sandbox. */
const LISTED_REFUSALS = 100;

/** The sandboxes of an attempt, from its events. */
export class SandboxRows {
  readonly #sandboxes = new Map<string, SandboxFields>();

  add(event: TraceEvent): void {
    if (event.type === 'sandbox.started') {
      const { type: _type, seq: _seq, at: _at, attempt: _attempt, ...facts } = event;
      this.#sandboxes.set(event.name, { ...facts, end: null, refused: [] });
    } else if (event.type === 'sandbox.ended') {
      const { type: _type, seq: _seq, at: _at, attempt: _attempt, name, ...end } = event;
      this.#update(name, { end });
    } else if (event.type === 'sandbox.refused') this.#addRefusal(event);
  }

  /** Milliseconds that sandboxes waited. They wait at the same time. */
  get queuedMs(): number {
    return Math.max(0, ...[...this.#sandboxes.values()].map(({ queued_ms }) => queued_ms));
  }

  /** The field of the trace; nothing without a sandbox. */
  toFields(): Pick<Trace, 'sandboxes'> {
    return this.#sandboxes.size === 0 ? {} : { sandboxes: [...this.#sandboxes.values()] };
  }

  /** The line of `timing`; nothing without a sandbox. */
  toTiming(): Pick<Trace['timing'], 'sandbox_ms'> {
    if (this.#sandboxes.size === 0) return {};
    const times = [...this.#sandboxes.values()].map(({ image_ms, start_ms }) => image_ms + start_ms);
    return { sandbox_ms: Math.max(...times) };
  }

  #addRefusal({ sandbox, host, port }: EventOf<'sandbox.refused'>): void {
    const { refused = [] } = this.#sandboxes.get(sandbox) ?? {};
    if (refused.length < LISTED_REFUSALS) this.#update(sandbox, { refused: [...refused, { host, port }] });
  }

  #update(name: string, change: Partial<SandboxFields>): void {
    const known = this.#sandboxes.get(name);
    if (known !== undefined) this.#sandboxes.set(name, { ...known, ...change });
  }
}
