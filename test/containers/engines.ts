import { inject } from 'vitest';
import type { SharedEngines } from './engines-for-all.ts';

/** A container engine that tests may use, and the names of its images. */
export interface TestEngine {
  /** `docker` or `podman`. */
  readonly kind: 'docker' | 'podman';
  readonly url: string;
  /** An image of busybox. */
  readonly busy: string;
  /** The same with Node.js. */
  readonly node: string;
}

/**
 * The engines of this machine: those of `PROCTOR_TEST_ENGINES`, else a Docker and a Podman that are started for the tests.
 * None where they cannot be had, which is said aloud.
 *
 * @throws Error on a CI machine that has none.
 */
export async function testEngines(): Promise<readonly TestEngine[]> {
  const answer = (await (await fetch(inject('enginesUrl'))).json()) as SharedEngines;
  if ('unavailable' in answer) {
    if (process.env.CI) throw new Error(`CI needs container engines: ${answer.unavailable}`);
    return [];
  }
  const { urls, busy, node } = answer;
  return urls.map((url) => ({ kind: url.includes('podman') ? 'podman' : 'docker', url, busy, node }));
}
