import { EngineError } from '../engine.ts';
import { readTar } from '../files/tar.ts';
import type { DockerApi } from './api.ts';
import { isStatus } from './refusal.ts';

/** User of the agent's commands where neither the author nor the image names one. It need not be known to the image. */
const UNPRIVILEGED = '1000:1000';
const MAX_BYTES = 4 * 1024 * 1024;

/** The user of a sandbox, with its numbers. */
export interface SandboxUser {
  readonly uid: number;
  readonly gid: number;
  /** Home folder in the image; undefined if the image does not know the user. */
  readonly home: string | undefined;
}

/**
 * Finds the numbers of a user, `name`, `uid`, or either with a group, in the files of a container.
 *
 * @throws RangeError if the image has no such user.
 */
export async function findUser(
  api: DockerApi,
  container: string,
  wanted: string | undefined,
  ofImage: string,
  signal: AbortSignal,
): Promise<SandboxUser> {
  const isRoot = /^(root|0)?(:|$)/.test(ofImage);
  const [user = '', group] = (wanted ?? (isRoot ? UNPRIVILEGED : ofImage)).split(':');
  const users = await readLines(api, container, '/etc/passwd', signal);
  const entry = users.find(([name, , uid]) => name === user || (uid === user && /^\d+$/.test(user)));
  if (entry === undefined && !/^\d+$/.test(user)) {
    throw new RangeError(`The image has no user ${JSON.stringify(user)}: give a number such as 1000:1000`);
  }
  const uid = Number(entry?.[2] ?? user);
  const gid = group === undefined ? Number(entry?.[3] ?? uid) : await findGroup(api, container, group, signal);
  return { uid, gid, home: entry?.[5] };
}

async function findGroup(api: DockerApi, container: string, group: string, signal: AbortSignal): Promise<number> {
  if (/^\d+$/.test(group)) return Number(group);
  const groups = await readLines(api, container, '/etc/group', signal);
  const entry = groups.find(([name]) => name === group);
  if (entry === undefined) throw new RangeError(`The image has no group ${JSON.stringify(group)}: give a number`);
  return Number(entry[2]);
}

/** The fields of the lines of a file; none if there is no such file. */
async function readLines(api: DockerApi, container: string, path: string, signal: AbortSignal): Promise<string[][]> {
  const call = { method: 'GET', path: `/containers/${container}/archive`, query: { path } } as const;
  try {
    for await (const { size, content } of readTar(await api.stream(call, signal))) {
      if (size > MAX_BYTES) throw new EngineError('image', `${path} of the image has ${size} bytes`);
      const parts: Buffer[] = [];
      for await (const chunk of content) parts.push(chunk);
      return Buffer.concat(parts)
        .toString('utf8')
        .split('\n')
        .map((line) => line.split(':'));
    }
  } catch (error) {
    if (!isStatus(error, 404)) throw error;
  }
  return [];
}
