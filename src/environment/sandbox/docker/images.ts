import { z } from 'zod';
import { backoffMs, sleep } from '../../../support/runtime/backoff.ts';
import { LineSplitter } from '../../../support/runtime/line-splitter.ts';
import { durationText } from '../../../support/text/figures.ts';
import { EngineError, type ImageSource, type PreparedImage } from '../engine.ts';
import type { ApiCall, DockerApi } from './api.ts';
import { buildContext } from './build-context.ts';
import { shortHash } from './networks.ts';
import { isStatus } from './refusal.ts';

/** Pulls at once, whatever the number of sandboxes that wait. */
const PULLS_AT_ONCE = 2;
const PULL_TRIES = 5;
/** A registry that says "too many requests" is asked again after this time. */
const PULL_WAIT = { firstMs: 5_000, longestMs: 60_000 };
/** A pull or a build that says nothing for this long is given up. */
const SILENCE_MS = 10 * 60_000;
const MAX_LINE = 64 * 1024;
const imageSchema = z.object({
  Id: z.string(),
  RepoDigests: z.array(z.string()).nullish(),
  Config: z.object({ User: z.string().nullish(), Labels: z.record(z.string(), z.string()).nullish() }).nullish(),
});

/** Images of an engine: what is missing is pulled or built once, whoever asks. */
export class Images {
  readonly #api: DockerApi;
  readonly #checkDisk: (signal: AbortSignal) => Promise<void>;
  /** Pulls and builds that run, by image. */
  readonly #running = new Map<string, Promise<void>>();
  readonly #waiting: (() => void)[] = [];
  #pulls = 0;

  constructor(api: DockerApi, checkDisk: (signal: AbortSignal) => Promise<void>) {
    this.#api = api;
    this.#checkDisk = checkDisk;
  }

  async prepare(image: ImageSource, signal: AbortSignal): Promise<PreparedImage> {
    const reference = typeof image === 'string' ? withTag(image) : `proctor-build:${shortHash(JSON.stringify(image))}`;
    const found = typeof image === 'string' ? await this.find(reference, signal) : undefined;
    if (found !== undefined) return found;
    const running = this.#running.get(reference);
    if (running !== undefined) await running.catch(() => {});
    else await this.#make(image, reference, signal);
    const made = await this.find(reference, signal);
    if (made !== undefined) return made;
    // Another sandbox waited for the image, and was given up or failed.
    if (running !== undefined) return await this.prepare(image, signal);
    throw new EngineError('image', `The container engine has no image ${reference} although it was made`);
  }

  async find(reference: string, signal: AbortSignal): Promise<PreparedImage | undefined> {
    try {
      const call = { method: 'GET', path: `/images/${reference}/json` } as const;
      const { Id, RepoDigests, Config } = await this.#api.json(call, imageSchema, signal);
      const [digest] = RepoDigests?.map((each) => each.split('@')[1]).filter((each) => each !== undefined) ?? [];
      const id = Id.startsWith('sha256:') ? Id : `sha256:${Id}`;
      return { kind: 'image', reference: Id, digest: digest ?? id, user: Config?.User ?? '' };
    } catch (error) {
      if (isStatus(error, 404)) return undefined;
      throw error;
    }
  }

  async #make(image: ImageSource, reference: string, signal: AbortSignal): Promise<void> {
    const making = (async () => {
      await this.#checkDisk(signal);
      if (typeof image === 'string') await this.#pull(reference, signal);
      else await this.#build(image, reference, signal);
    })();
    this.#running.set(reference, making);
    try {
      await making;
    } finally {
      this.#running.delete(reference);
    }
  }

  async #pull(reference: string, signal: AbortSignal): Promise<void> {
    await this.#turn(signal);
    try {
      for (let retry = 0; ; retry += 1) {
        const { name, tag } = splitTag(reference);
        const call = {
          method: 'POST',
          path: '/images/create',
          query: { fromImage: name, tag },
          limitMs: null,
        } as const;
        const failure = await this.#follow({ ...call, fault: 'image' }, signal);
        if (failure === undefined) return;
        if (!/toomanyrequests|too many requests|\b429\b/i.test(failure) || retry === PULL_TRIES) {
          throw new EngineError('image', `The image ${reference} cannot be pulled: ${failure}. ${wayOut(failure)}`);
        }
        await sleep(backoffMs(retry, PULL_WAIT), signal);
      }
    } finally {
      this.#pulls -= 1;
      this.#waiting.shift()?.();
    }
  }

  async #build(
    { build, dockerfile, args }: Exclude<ImageSource, string>,
    reference: string,
    signal: AbortSignal,
  ): Promise<void> {
    const query = { t: reference, dockerfile, buildargs: JSON.stringify(args ?? {}), forcerm: 1, rm: 1 };
    const archive = buildContext(build);
    const call = { method: 'POST', path: '/build', query, archive, limitMs: null, fault: 'image' } as const;
    const failure = await this.#follow(call, signal);
    if (failure === undefined) return;
    throw new EngineError('image', `The image of ${build} cannot be built: ${failure}`);
  }

  /** Reads the lines of a pull or a build. Podman answers with success, and tells a failure in one of them. */
  async #follow(call: ApiCall, signal: AbortSignal): Promise<string | undefined> {
    let failure: string | undefined;
    const lines = new LineSplitter(MAX_LINE, (line) => {
      failure = errorIn(line) ?? failure;
    });
    try {
      const reply = await this.#api.stream(call, signal);
      const silence = `nothing was heard of it for ${durationText(SILENCE_MS)}`;
      reply.setTimeout(SILENCE_MS, () => reply.destroy(new EngineError('timeout', silence)));
      for await (const chunk of reply as AsyncIterable<Buffer>) lines.push(chunk.toString('utf8'));
      lines.end();
    } catch (error) {
      signal.throwIfAborted();
      if (isStatus(error, 404, 429, 500)) return error.words;
      throw error;
    }
    return failure;
  }

  async #turn(signal: AbortSignal): Promise<void> {
    while (this.#pulls >= PULLS_AT_ONCE) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    this.#pulls += 1;
    signal.throwIfAborted();
  }
}

function withTag(image: string): string {
  return image.includes('@') || /:[^/]*$/.test(image) || /^sha256:/.test(image) ? image : `${image}:latest`;
}

function splitTag(reference: string): { readonly name: string; readonly tag: string | undefined } {
  const found = /^(.*):([^/@]*)$/.exec(reference);
  return reference.includes('@') || found === null
    ? { name: reference, tag: undefined }
    : { name: found[1] ?? '', tag: found[2] };
}

function errorIn(line: string): string | undefined {
  if (line.trim() === '') return undefined;
  try {
    const { error, errorDetail } = JSON.parse(line) as { error?: unknown; errorDetail?: { message?: unknown } };
    const words = errorDetail?.message ?? error;
    return typeof words === 'string' && words !== '' ? words.trim() : undefined;
  } catch {
    return undefined;
  }
}

function wayOut(failure: string): string {
  if (/toomanyrequests|429/i.test(failure))
    return 'The registry limits pulls: sign in with "docker login", or pull ahead';
  if (/no such host|dial tcp|timeout|connection refused/i.test(failure))
    return 'The registry cannot be reached: check the network of the engine, or load the image ("docker load")';
  return 'Check the name, and sign in to the registry if the image is private';
}
