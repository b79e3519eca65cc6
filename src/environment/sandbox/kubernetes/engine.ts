import { type Engine, EngineError } from '../engine.ts';

/** @throws EngineError, because this version of Proctor does not have the engine yet. */
export function openKubernetes(_options: object): Engine {
  throw new EngineError('refused', 'This version of Proctor does not have the engine kubernetes yet');
}
