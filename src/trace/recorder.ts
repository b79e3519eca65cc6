import type { EventBody } from '../contract/event.ts';
import type { Json } from '../contract/json.ts';

/**
 * Where a rollout writes what happens. `record` does not wait; `settled` does, and rejects with what went wrong
 * (`AttemptSupersededError` when another worker has the run). A rollout waits at each step's end and before it answers.
 */
export interface EventRecorder {
  record(body: EventBody): void;
  settled(): Promise<void>;
  /** A value as it is stored: bytes over 16 KiB (base64 of images and other content) become blob references. */
  toStored<T extends Json>(value: T): Promise<T>;
}
