import { posix } from 'node:path';
import type {
  EgressProxy,
  EngineSandbox,
  FileContent,
  FrozenFiles,
  ImageSource,
  PreparedImage,
  SandboxLabels,
  SandboxNetwork,
} from '../engine.ts';
import { EngineError } from '../engine.ts';
import type { ReadyEngine, SandboxEngines } from '../open-engine.ts';
import { type CheckedOptions, imageText, toSpec } from '../options.ts';
import { whenEngineIsBack } from './engine-return.ts';
import { InitialFiles } from './initial-files.ts';
import { COPY_LIMITS } from './local-folder.ts';
import { putSource } from './session-sandbox.ts';

/** Makes the proxy of an allow list. @throws TypeError for a destination that cannot be read. */
export type ProxyMaker = (allow: readonly string[]) => EgressProxy;

export interface OpenRequest {
  readonly name: string;
  readonly options: CheckedOptions;
  readonly labels: SandboxLabels;
  /** A file system instead of the image of the options. */
  readonly frozen?: FrozenFiles | undefined;
}

/** A sandbox of an engine with its first files, and what the trace tells of it. */
export interface OpenedSandbox {
  readonly sandbox: EngineSandbox;
  readonly initial: InitialFiles;
  readonly ready: ReadyEngine;
  readonly image: PreparedImage | undefined;
  /** Milliseconds that it waited for an engine that was away. */
  readonly queuedMs: number;
  /** Milliseconds to get the image. */
  readonly imageMs: number;
  /** Milliseconds to make and start the sandbox, with its files. */
  readonly startMs: number;
}

/**
 * Makes a sandbox with its files. It waits while the engine is away, for up to a minute.
 *
 * @throws EngineError; RangeError for files that are too large; the reason of the signal. Nothing is left then.
 */
export async function openSandbox(
  request: OpenRequest,
  { engines, makeProxy }: { readonly engines: SandboxEngines; readonly makeProxy: ProxyMaker },
  signal: AbortSignal,
): Promise<OpenedSandbox> {
  const { name, options, labels, frozen } = request;
  let queuedMs = 0;
  const waiting = async <T>(work: () => Promise<T>): Promise<T> => {
    const arrivedAt = performance.now();
    let startedAt = arrivedAt;
    const done = await whenEngineIsBack(
      () => {
        startedAt = performance.now();
        return work();
      },
      signal,
      { onAway: () => engines.forget(engines.nameFor(options.image !== undefined)) },
    );
    queuedMs += startedAt - arrivedAt;
    return done;
  };
  const wanted = options.image === undefined ? undefined : imageText(options.image);
  const ready = await waiting(() => engines.ready(wanted, signal));
  refuseUnenforced(name, options, ready);
  const { engine } = ready;
  const imageAt = performance.now();
  const image = frozen === undefined ? await prepared(options.image, waiting, ready, signal) : undefined;
  const imageMs = performance.now() - imageAt;
  const network = networkOf(options, makeProxy);
  const startedAt = performance.now();
  const sandbox = await waiting(() =>
    engine.create(toSpec(options, { image: frozen ?? image, name, network, labels }), signal),
  );
  const initial = new InitialFiles();
  try {
    if (frozen === undefined) await putFiles(sandbox, options, initial, signal);
  } catch (error) {
    await sandbox.stop().catch(() => {}); // The first error says more.
    throw error;
  }
  return { sandbox, initial, ready, image, queuedMs, imageMs, startMs: performance.now() - startedAt };
}

/** Copies paths of one sandbox to another, with owners and modes. A path that does not exist is left out. */
export async function copyKept(
  from: EngineSandbox,
  to: EngineSandbox,
  paths: readonly string[],
  initial: InitialFiles,
  signal: AbortSignal,
): Promise<void> {
  for (const path of paths) {
    const entry = await from.stat(path, signal);
    if (entry === undefined) continue;
    const found = from.get(path, COPY_LIMITS, signal);
    if (entry.type === 'folder') await to.put(initial.note(found, path), path, signal);
    else
      await to.put(
        initial.note(renamed(found, posix.basename(path)), posix.dirname(path)),
        posix.dirname(path),
        signal,
      );
  }
}

async function* renamed(entries: AsyncIterable<FileContent>, name: string): AsyncGenerator<FileContent> {
  for await (const entry of entries) yield { ...entry, name };
}

async function prepared(
  image: ImageSource | undefined,
  waiting: <T>(work: () => Promise<T>) => Promise<T>,
  { engine }: ReadyEngine,
  signal: AbortSignal,
): Promise<PreparedImage | undefined> {
  if (image === undefined) return undefined;
  return await waiting(() => engine.prepare(image, signal));
}

/** @throws EngineError for a limit that the author has named and the engine cannot enforce. */
export function refuseUnenforced(
  name: string,
  { named, isBestEffort }: CheckedOptions,
  { figures }: ReadyEngine,
): void {
  const limit = isBestEffort ? undefined : named.find((each) => figures.notEnforced[each] !== undefined);
  if (limit === undefined) return;
  const message = `The sandbox "${name}" has the limit ${limit}, which ${figures.kind} cannot enforce here: ${figures.notEnforced[limit]}`;
  throw new EngineError('refused', `${message}. Leave it out, or set limits to "best-effort"`);
}

function networkOf({ network }: CheckedOptions, makeProxy: ProxyMaker): SandboxNetwork {
  if (network === 'none' || network === 'open') return { kind: network };
  return { kind: 'proxy', proxy: makeProxy(network.allow) };
}

async function putFiles(
  sandbox: EngineSandbox,
  { files, workdir }: CheckedOptions,
  initial: InitialFiles,
  signal: AbortSignal,
): Promise<void> {
  const texts: Record<string, string | Uint8Array> = {};
  for (const [path, content] of Object.entries(files)) {
    if (typeof content === 'string' || content instanceof Uint8Array) texts[path] = content;
    else await putSource(sandbox, content.folder, posix.resolve(workdir, path), signal, initial);
  }
  await putSource(sandbox, texts, workdir, signal, initial);
}
