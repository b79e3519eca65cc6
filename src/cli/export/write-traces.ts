import { createHash } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Trace } from '../../contract/trace.ts';
import { refersToBytes, toDataUrl } from '../../formats/addresses.ts';
import type { TraceBytes, WriteContext } from '../../formats/format.ts';
import { Losses } from '../../formats/losses.ts';
import { endingOf } from '../../formats/media-types.ts';
import { loadBytes } from '../../trace/trace-bytes.ts';
import type { TraceStore } from '../../trace/trace-store.ts';

/** Traces that are read one after the other, and what a writer needs of each. */
export class TraceReader {
  readonly losses = new Losses();
  readonly #store: TraceStore;
  #bytes: ReadonlyMap<string, TraceBytes> = new Map();
  readonly #paths = new Map<string, string>();
  readonly #images: ImageFiles | undefined;
  #count = 0;

  /** @param imagesBeside a file: images are written into `images/` beside it, in place of `data:` URLs. */
  constructor(store: TraceStore, imagesBeside: string | undefined) {
    this.#store = store;
    this.#images = imagesBeside === undefined ? undefined : new ImageFiles(imagesBeside);
  }

  /** Traces that were read so far. */
  get count(): number {
    return this.#count;
  }

  /** For the trace that was read last. */
  get context(): WriteContext {
    return { losses: this.losses, addressOf: (bytes) => this.#addressOf(bytes) };
  }

  /** Traces that are gone meanwhile are left out, and counted as lost. */
  async *read(ids: readonly string[], signal: AbortSignal): AsyncGenerator<Trace> {
    const before = this.#count;
    for await (const trace of this.#store.traces(ids, signal)) {
      this.#count += 1;
      await this.#load([trace]);
      yield trace;
    }
    this.losses.add('trace', 'it was deleted while it was exported', ids.length - (this.#count - before));
  }

  /** The bytes of both are there for one line. */
  async pair(ids: readonly [string, string]): Promise<readonly [Trace, Trace] | undefined> {
    const [one, two] = [await this.#store.trace(ids[0]), await this.#store.trace(ids[1])];
    if (one === undefined || two === undefined) return undefined;
    this.#count += 2;
    await this.#load([one, two]);
    return [one, two];
  }

  async #load(traces: readonly Trace[]): Promise<void> {
    this.#paths.clear();
    const found = new Map<string, TraceBytes>();
    for (const trace of traces) {
      if (!refersToBytes(trace)) continue;
      const account = (await this.#store.row(trace.trace_id))?.account;
      if (account === undefined) continue;
      const keep = (reference: string, { bytes, mimeType }: { bytes: Uint8Array; mimeType: string }) => {
        if (this.#images === undefined) return true;
        this.#paths.set(reference, this.#images.write(bytes, mimeType));
        return false;
      };
      for (const [reference, bytes] of await loadBytes(this.#store, trace, account, keep)) found.set(reference, bytes);
    }
    this.#bytes = found;
  }

  #addressOf(bytes: TraceBytes): string | undefined {
    const known = this.#paths.get(bytes.data) ?? this.#bytes.get(bytes.data);
    if (typeof known === 'string') return known;
    if (known === undefined && bytes.data.startsWith('svc-blob:')) return undefined;
    const { data } = known ?? bytes;
    if (this.#images === undefined) return toDataUrl({ mimeType: bytes.mimeType, data });
    return this.#images.write(Buffer.from(data, 'base64'), bytes.mimeType);
  }
}

/** Images beside a file, by their content: the same image is one file, and a file that is there has the same bytes. */
class ImageFiles {
  readonly #folder: string;
  /** Names of files that were written. */
  readonly #written = new Set<string>();

  constructor(file: string) {
    this.#folder = join(dirname(file), 'images');
  }

  /** @returns its path beside the file. */
  write(bytes: Uint8Array, mimeType: string): string {
    const name = `${createHash('sha256').update(bytes).digest('hex')}.${endingOf(mimeType)}`;
    if (!this.#written.has(name)) {
      if (this.#written.size === 0) mkdirSync(this.#folder, { recursive: true });
      writeFileSync(join(this.#folder, name), bytes);
      this.#written.add(name);
    }
    return `images/${name}`;
  }
}
