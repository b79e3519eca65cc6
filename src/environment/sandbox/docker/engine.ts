import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import { once, type Part } from '../../../support/runtime/once.ts';
import type {
  Engine,
  EngineFigures,
  EngineSandbox,
  FrozenFiles,
  ImageSource,
  PreparedImage,
  SandboxRecord,
  SandboxSpec,
} from '../engine.ts';
import { type AddressOptions, findAddress } from './address.ts';
import { DockerApi, WORK_LIMIT_MS } from './api.ts';
import { createContainer } from './create.ts';
import { canLimitDisk, checkDisk, DISK_FLOOR_BYTES, type EngineInfo, readInfo, toFigures } from './figures.ts';
import { Images } from './images.ts';
import { fromLabels, NETWORK_LABEL, ofSession, ownedBy, toLabels, USER_LABEL } from './labels.ts';
import { Networks } from './networks.ts';
import { isStatus } from './refusal.ts';
import { DockerSandbox, removeContainer } from './sandbox.ts';
import { findUser } from './users.ts';

export interface DockerOptions extends AddressOptions {
  /** Free bytes that the disk of the engine has to keep. Default 2 GiB. */
  readonly diskFloorBytes?: number | undefined;
}

/** Name of the images that hold frozen file systems. */
const FROZEN = 'proctor-frozen';
/** Ids of frozen file systems in lists. */
const FROZEN_PREFIX = `${FROZEN}:`;

const containerSchema = z.object({
  Id: z.string(),
  Image: z.string(),
  Created: z.number(),
  Labels: z.record(z.string(), z.string()).nullish(),
});
const listedImageSchema = z.object({
  RepoTags: z.array(z.string()).nullish(),
  Created: z.number(),
  Labels: z.record(z.string(), z.string()).nullish(),
});
const networkSchema = z.object({ Name: z.string(), Labels: z.record(z.string(), z.string()).nullish() });
const statsSchema = z.object({ memory_stats: z.object({ usage: z.number().optional() }).optional() });

/** Opens the engine of Docker or Podman. It is asked at the first call. */
export function openDocker(options: DockerOptions = {}): Engine {
  return new DockerEngine(options);
}

interface Parts {
  readonly api: DockerApi;
  readonly images: Images;
  readonly networks: Networks;
  readonly info: Part<EngineInfo>;
}

class DockerEngine implements Engine {
  readonly name = 'docker';
  readonly takesImages = true;
  readonly #floorBytes: number;
  readonly #parts: Part<Parts>;

  constructor(options: DockerOptions) {
    this.#floorBytes = options.diskFloorBytes ?? DISK_FLOOR_BYTES;
    this.#parts = once(async () => {
      const api = new DockerApi(await findAddress(options));
      const info = once(() => readInfo(api, new AbortController().signal));
      const images = new Images(api, async () => checkDisk(await info.get(), this.#floorBytes));
      return { api, images, networks: new Networks(api), info };
    });
  }

  async check(signal: AbortSignal): Promise<EngineFigures> {
    const { api } = await this.#parts.get();
    return await toFigures(api, await readInfo(api, signal), signal);
  }

  async prepare(image: ImageSource, signal: AbortSignal): Promise<PreparedImage> {
    return await (await this.#parts.get()).images.prepare(image, signal);
  }

  async create(spec: SandboxSpec, signal: AbortSignal): Promise<EngineSandbox> {
    const { api, images, networks, info } = await this.#parts.get();
    const { image } = spec;
    if (image === undefined) throw new TypeError('A sandbox of the engine docker needs an image');
    const known = await info.get();
    await checkDisk(known, this.#floorBytes);
    const network = await networks.join(spec, signal);
    let id: string | undefined;
    try {
      const reference = image.kind === 'image' ? image.reference : image.id;
      const made = { image: reference, network: network.name, canLimitDisk: canLimitDisk(known) };
      id = await createContainer(api, spec, made, signal);
      const ofImage = image.kind === 'image' ? image.user : ((await images.find(reference, signal))?.user ?? '');
      const user = await findUser(api, id, spec.user, ofImage, signal);
      const container = id;
      const freeze = (freezing: AbortSignal) => this.#freeze(api, container, spec, user, freezing);
      const sandbox = new DockerSandbox({ api, id, spec, user, network, freeze });
      await sandbox.begin(signal);
      return sandbox;
    } catch (error) {
      const leaving = AbortSignal.timeout(WORK_LIMIT_MS);
      if (id !== undefined) await removeContainer(api, id, leaving).catch(() => {});
      await network.leave(leaving).catch(() => {});
      throw error;
    }
  }

  async list(owner: string, signal: AbortSignal): Promise<readonly SandboxRecord[]> {
    const { api } = await this.#parts.get();
    const filters = ownedBy(owner);
    const containers = await api.json(
      { method: 'GET', path: '/containers/json', query: { all: 1, filters } },
      z.array(containerSchema),
      signal,
    );
    const frozen = await api.json(
      { method: 'GET', path: '/images/json', query: { filters } },
      z.array(listedImageSchema),
      signal,
    );
    const records = containers.map(async ({ Id, Image, Created, Labels }) => ({
      id: Id,
      engine: this.name,
      image: Image,
      labels: fromLabels(Labels ?? {}),
      createdAt: new Date(Created * 1_000),
      memoryBytes: await memoryOf(api, Id, signal),
    }));
    const ofImages = frozen.flatMap(({ RepoTags, Created, Labels }) => {
      const tag = RepoTags?.find((each) => each.includes(FROZEN_PREFIX));
      if (tag === undefined) return [];
      const id = tag.slice(tag.indexOf(FROZEN_PREFIX));
      const createdAt = new Date(Created * 1_000);
      return [
        { id, engine: this.name, image: id, labels: fromLabels(Labels ?? {}), createdAt, memoryBytes: undefined },
      ];
    });
    return [...(await Promise.all(records)), ...ofImages];
  }

  async remove(id: string, signal: AbortSignal): Promise<void> {
    const { api, networks } = await this.#parts.get();
    if (id.startsWith(FROZEN_PREFIX)) return await removeImage(api, id, signal);
    const labels = await labelsOf(api, id, signal);
    await removeContainer(api, id, signal);
    if (labels === undefined) return;
    const { owner = '', session = '' } = fromLabels(labels);
    const filters = [ofSession(session), ownedBy(owner)];
    for (const filter of filters) {
      const call = { method: 'GET', path: '/networks', query: { filters: filter } } as const;
      for (const { Name, Labels } of await api.json(call, z.array(networkSchema), signal)) {
        if (Labels?.[NETWORK_LABEL] !== undefined) await networks.remove(Name, signal);
      }
    }
  }

  async close(): Promise<void> {
    (await this.#parts.made())?.api.close();
  }

  async #freeze(
    api: DockerApi,
    container: string,
    spec: SandboxSpec,
    user: { readonly uid: number; readonly gid: number },
    signal: AbortSignal,
  ): Promise<FrozenFiles> {
    await checkDisk(await readInfo(api, signal), this.#floorBytes);
    const tag = randomBytes(12).toString('hex');
    const call = {
      method: 'POST',
      path: '/commit',
      query: { container, repo: FROZEN, tag, pause: true },
      // The next sandbox has the same user, although the holder belongs to root.
      body: { User: `${user.uid}:${user.gid}`, Labels: { ...toLabels(spec.labels), [USER_LABEL]: spec.user ?? '' } },
      limitMs: WORK_LIMIT_MS,
    } as const;
    await api.text(call, signal);
    const id = `${FROZEN_PREFIX}${tag}`;
    return { kind: 'frozen', id, remove: () => removeImage(api, id, AbortSignal.timeout(WORK_LIMIT_MS)) };
  }
}

async function removeImage(api: DockerApi, id: string, signal: AbortSignal): Promise<void> {
  const call = { method: 'DELETE', path: `/images/${id}`, query: { force: true }, limitMs: WORK_LIMIT_MS } as const;
  await api.text(call, signal).catch((error: unknown) => {
    if (!isStatus(error, 404)) throw error;
  });
}

async function labelsOf(api: DockerApi, id: string, signal: AbortSignal) {
  const schema = z.object({ Config: z.object({ Labels: z.record(z.string(), z.string()).nullish() }) });
  try {
    return (await api.json({ method: 'GET', path: `/containers/${id}/json` }, schema, signal)).Config.Labels ?? {};
  } catch (error) {
    if (isStatus(error, 404)) return undefined;
    throw error;
  }
}

async function memoryOf(api: DockerApi, id: string, signal: AbortSignal): Promise<number | undefined> {
  const query = { stream: false, 'one-shot': true };
  const call = { method: 'GET', path: `/containers/${id}/stats`, query } as const;
  const stats = await api.json(call, statsSchema, signal).catch(() => undefined);
  return stats?.memory_stats?.usage;
}
