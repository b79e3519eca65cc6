import type { CheckTask, Finding } from '../finding.ts';
import { shown } from './passes.ts';
import type { PlayedSession } from './play.ts';
import type { SessionPlayer } from './session-player.ts';

const TOLERANCE = 1e-6;

/** Checks that rewards lie between 0 and 1 and match their subscores. */
export function bounded(task: CheckTask, played: PlayedSession, bench: SessionPlayer): readonly Finding[] {
  const { evaluation } = played.trace;
  if (evaluation === null) return [];
  const { reward, subscores } = evaluation;
  const reproduce = bench.commandOf(task, played);
  const toFound = (message: string): Finding => ({
    finding: 'bounded',
    level: 'error',
    task,
    played,
    message,
    reproduce,
  });
  if (reward < 0 || reward > 1) return [toFound(`A reward is ${shown(reward)}: it has to be within 0 and 1.`)];
  const outside = subscores.find(({ value }) => value < 0 || value > 1);
  if (outside !== undefined) {
    return [
      toFound(`The subscore ${JSON.stringify(outside.name)} is ${shown(outside.value)}: it has to be within 0 and 1.`),
    ];
  }
  const total = subscores.reduce((sum, { weight = 1 }) => sum + weight, 0);
  if (total === 0) return [];
  const mean = subscores.reduce((sum, { value, weight = 1 }) => sum + value * weight, 0) / total;
  if (Math.abs(mean - reward) <= TOLERANCE) return [];
  return [toFound(`The reward is ${shown(reward)}, and the weighted mean of its subscores ${shown(mean)}.`)];
}
