import { createHash } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Trace } from '../../../contract/service/trace.ts';
import { refersToBytes, toDataUrl } from '../../../store/formats/addresses.ts';
import type { TraceBytes, WriteContext } from '../../../store/formats/format.ts';
import { Losses } from '../../../store/formats/losses.ts';
import { endingOf } from '../../../store/formats/media-types.ts';
import { loadBytes, type StoredBytes } from '../../../store/traces/trace-bytes.ts';
import type { TraceSource } from './trace-source.ts';

/** Reads traces one by one and prepares the context for their writer. */
export class TraceReader {
  readonly losses = new Losses();
  readonly #source: TraceSource;
  #bytes: ReadonlyMap<string, TraceBytes> = new Map();
  readonly #paths = new Map<string, string>();
  readonly #images: ImageFiles | undefined;
  #count = 0;

  /** @param imagesBeside path of the output file; images go to `images/` next to it instead of `data:` URLs. */
  constructor(source: TraceSource, imagesBeside: string | undefined) {
    this.#source = source;
    this.#images = imagesBeside === undefined ? undefined : new ImageFiles(imagesBeside);
  }

  /** Number of traces read so far. */
  get count(): number {
    return this.#count;
  }

  /** Context for the last trace read. */
  get context(): WriteContext {
    return { losses: this.losses, addressOf: (bytes) => this.#addressOf(bytes) };
  }

  /** Reads traces. Deleted ones are skipped and counted as lost. */
  async *read(ids: readonly string[], signal: AbortSignal): AsyncGenerator<Trace> {
    const before = this.#count;
    for await (const trace of this.#source.traces(ids, signal)) {
      this.#count += 1;
      await this.#load([trace]);
      yield trace;
    }
    this.losses.add('trace', 'it was deleted while it was exported', ids.length - (this.#count - before));
  }

  /** Reads two traces. The images of both are available for one line. */
  async pair(ids: readonly [string, string]): Promise<readonly [Trace, Trace] | undefined> {
    const [one, two] = [await this.#source.trace(ids[0]), await this.#source.trace(ids[1])];
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
      const keep = (reference: string, { bytes, mimeType }: StoredBytes) => {
        if (this.#images === undefined) return true;
        this.#paths.set(reference, this.#images.write(bytes, mimeType));
        return false;
      };
      for (const [reference, bytes] of await loadBytes(trace, (sha256) => this.#source.blob(sha256), keep))
        found.set(reference, bytes);
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

/** Image files named by their hash, so that equal images share one file. */
class ImageFiles {
  readonly #folder: string;
  /** Names of written files. */
  readonly #written = new Set<string>();

  constructor(file: string) {
    this.#folder = join(dirname(file), 'images');
  }

  /** @returns the path relative to the output file. */
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
