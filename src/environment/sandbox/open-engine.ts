import { preview } from '../../support/schema/json-schema.ts';
import { ENGINE_NAMES, type Engine, EngineError, type EngineFigures, type EngineName } from './engine.ts';
import { bytesOf } from './options.ts';

/** Settings of the engines, as they travel to the process of an environment. */
export interface SandboxSettings {
  /** The engine of all sandboxes. Default: bubblewrap without an image, docker with one. */
  readonly engine?: EngineName | undefined;
  /** Labels of the sandboxes: the id of the database whose runs they belong to. */
  readonly owner?: string | undefined;
  /** Address of a Docker Engine, such as `unix:///run/docker.sock`. Default: found as the docker command finds it. */
  readonly docker?: { readonly host?: string | undefined } | undefined;
  /** Where Pods are made. */
  readonly kubernetes?: { readonly namespace?: string | undefined; readonly context?: string | undefined } | undefined;
  /** Variables of the operator that engines read, such as `DOCKER_HOST`. The process itself does not have them. */
  readonly variables?: Readonly<Record<string, string | undefined>> | undefined;
}

/** Opens an engine. Tests give their own. */
export type EngineOpener = (name: EngineName, settings: SandboxSettings) => Promise<Engine>;

/** Owner of sandboxes that belong to no database. */
export const NO_OWNER = 'none';

/** @throws TypeError for an unknown name, with the names of all. */
function checkEngineName(name: unknown, where: string): EngineName {
  const found = ENGINE_NAMES.find((known) => known === name);
  if (found !== undefined) return found;
  throw new TypeError(`${where} is ${preview(name)}; it has to be one of ${ENGINE_NAMES.join(', ')}`);
}

/**
 * Reads `PROCTOR_SANDBOX`: the name of an engine, or settings as JSON, which Proctor passes on to the processes that it
 * starts.
 *
 * @throws TypeError for an unknown engine and for JSON of another form.
 */
export function parseSandboxSettings(text: string | undefined): SandboxSettings {
  const trimmed = text?.trim() ?? '';
  if (trimmed === '') return {};
  if (!trimmed.startsWith('{')) return { engine: checkEngineName(trimmed, 'PROCTOR_SANDBOX') };
  let settings: SandboxSettings;
  try {
    settings = JSON.parse(trimmed) as SandboxSettings;
  } catch (cause) {
    throw new TypeError('PROCTOR_SANDBOX begins like JSON and is none: give the name of an engine', { cause });
  }
  if (settings.engine !== undefined) checkEngineName(settings.engine, 'PROCTOR_SANDBOX');
  return settings;
}

/** Loads the module of an engine, and opens it. An engine that is not asked for is not loaded. */
export const openEngine: EngineOpener = async (name, { docker, kubernetes, variables }) => {
  switch (name) {
    case 'bubblewrap':
      return (await import('./bubblewrap/engine.ts')).openBubblewrap();
    case 'docker':
      return (await import('./docker/engine.ts')).openDocker({ ...docker, variables, ...diskFloorOf(variables) });
    case 'kubernetes':
      return (await import('./kubernetes/engine.ts')).openKubernetes({ ...kubernetes, variables });
    case 'none':
      return (await import('./none/engine.ts')).openNone();
  }
};

/** Free bytes that the disk of the engine has to keep. @throws TypeError for something else than a number of bytes. */
function diskFloorOf(variables: SandboxSettings['variables']): { readonly diskFloorBytes?: number } {
  const text = variables?.PROCTOR_SANDBOX_DISK_FLOOR;
  if (text === undefined) return {};
  return { diskFloorBytes: bytesOf(text, 'PROCTOR_SANDBOX_DISK_FLOOR') };
}

/** Ways to choose an engine, for messages. */
const CHOOSING = '--sandbox or PROCTOR_SANDBOX';

/** An engine that answers, with its figures. */
export interface ReadyEngine {
  readonly engine: Engine;
  readonly figures: EngineFigures;
}

/**
 * The engines of one process. Each is opened at its first sandbox. The caller that makes this object has to close it.
 */
export class SandboxEngines {
  readonly settings: SandboxSettings;
  readonly #open: EngineOpener;
  readonly #engines = new Map<EngineName, Promise<Engine>>();
  readonly #figures = new Map<EngineName, EngineFigures>();

  constructor(settings: SandboxSettings = {}, open: EngineOpener = openEngine) {
    this.settings = settings;
    this.#open = open;
  }

  /** The engine for sandboxes with or without an image. @throws EngineError with the way out. */
  nameFor(needsImage: boolean): EngineName {
    const { engine } = this.settings;
    if (engine !== undefined) return engine;
    if (needsImage) return 'docker';
    if (process.platform === 'linux') return 'bubblewrap';
    const message = `Sandboxes without an image need bubblewrap, which Linux alone has, and this is ${process.platform}`;
    throw new EngineError('refused', `${message}: give the sandbox an image, and start Docker`);
  }

  /**
   * The engine for a sandbox, which has answered. Its figures are kept until it is away.
   *
   * @throws EngineError that says why it does not answer, or that it takes no images.
   */
  async ready(image: string | undefined, signal: AbortSignal): Promise<ReadyEngine> {
    const name = this.nameFor(image !== undefined);
    const engine = await this.#opened(name);
    if (image !== undefined && !engine.takesImages) {
      const message = `The sandbox needs the image ${image}, and the engine ${name} takes none`;
      throw new EngineError('refused', `${message}: choose docker or kubernetes (${CHOOSING}), or leave it out`);
    }
    if (image === undefined && (name === 'docker' || name === 'kubernetes')) {
      const message = `The sandbox has no image, and the engine ${name} needs one`;
      throw new EngineError('refused', `${message}: give the sandbox an image, or choose bubblewrap (${CHOOSING})`);
    }
    const figures = this.#figures.get(name) ?? (await engine.check(signal));
    this.#figures.set(name, figures);
    return { engine, figures };
  }

  /** Asks the engine again at the next sandbox, because it did not answer. */
  forget(name: EngineName): void {
    this.#figures.delete(name);
  }

  /** Closes the connections. Never rejects. */
  async close(): Promise<void> {
    const engines = [...this.#engines.values()];
    this.#engines.clear();
    await Promise.allSettled(engines.map(async (opening) => (await opening).close()));
  }

  async #opened(name: EngineName): Promise<Engine> {
    const known = this.#engines.get(name);
    if (known !== undefined) return await known;
    const opening = this.#open(name, this.settings);
    this.#engines.set(name, opening);
    opening.catch(() => this.#engines.delete(name));
    return await opening;
  }
}
