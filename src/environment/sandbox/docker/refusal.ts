import { EngineError, type EngineFault } from '../engine.ts';

/** The engine answered a call with an error. */
export class Refusal extends EngineError {
  constructor(
    readonly status: number,
    /** The engine's own words. */
    readonly words: string,
    fault: EngineFault,
    call: string,
  ) {
    super(
      isDiskFull(words) ? 'disk' : fault,
      `The container engine refused "${call}" (${status}): ${words}${hint(words)}`,
    );
  }
}

export function isStatus(error: unknown, ...statuses: readonly number[]): error is Refusal {
  return error instanceof Refusal && statuses.includes(error.status);
}

/** True if the engine says that it does not speak this version of the API. */
export function isWrongVersion(error: unknown): boolean {
  return isStatus(error, 400) && /client version|too (new|old)|minimum supported API version/i.test(error.words);
}

function isDiskFull(words: string): boolean {
  return /no space left on device|disk quota exceeded/i.test(words);
}

function hint(words: string): string {
  return isDiskFull(words) ? '. Free space on the disk of the engine, for example with "docker system prune"' : '';
}
