import { z } from 'zod';
import { EngineError } from '../engine.ts';

/** The newest version of the API that this client was written for. The calls are equal from the oldest on. */
const NEWEST = '1.44';
const OLDEST = '1.40';

export const versionSchema = z.object({
  Version: z.string(),
  ApiVersion: z.string(),
  MinAPIVersion: z.string().optional(),
  Components: z.array(z.object({ Name: z.string() })).nullish(),
});

export interface EngineVersion {
  readonly kind: 'docker' | 'podman';
  /** Version of the engine itself, such as `20.10.24`. */
  readonly version: string;
  /** Version of the API that is spoken with it. */
  readonly api: string;
}

/** The newest version that both sides speak. @throws EngineError if there is none. */
export function negotiate(answer: z.infer<typeof versionSchema>): EngineVersion {
  const isPodman = answer.Components?.some(({ Name }) => /podman/i.test(Name)) === true;
  const least = answer.MinAPIVersion ?? OLDEST;
  const api = compare(answer.ApiVersion, NEWEST) < 0 ? answer.ApiVersion : compare(least, NEWEST) > 0 ? least : NEWEST;
  if (compare(api, OLDEST) < 0) {
    const message = `The container engine speaks version ${answer.ApiVersion} of the API`;
    throw new EngineError('refused', `${message}; ${OLDEST} or newer is needed (Docker 19.03, Podman 4)`);
  }
  return { kind: isPodman ? 'podman' : 'docker', version: answer.Version, api };
}

/** Versions are numbers with dots: 1.9 is older than 1.10. */
export function compare(one: string, other: string): number {
  const [a, b] = [one, other].map((text) => text.split('.').map((part) => Number.parseInt(part, 10) || 0));
  for (let at = 0; at < Math.max(a?.length ?? 0, b?.length ?? 0); at += 1) {
    const difference = (a?.[at] ?? 0) - (b?.[at] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}
