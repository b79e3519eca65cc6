import type { Bench } from './bench.ts';
import type { Found, Subject } from './finding.ts';
import { foundOf } from './passes.ts';
import type { Played } from './play.ts';

const SEEDS = [1, 2, 3];

/** Three agents that call tools by chance. Their sessions are kept for other findings to look at. */
export async function random(
  { task }: Subject,
  bench: Bench,
): Promise<{ readonly found: readonly Found[]; readonly plays: readonly Played[] }> {
  const found: Found[] = [];
  const plays: Played[] = [];
  for (const seed of SEEDS) {
    const played = await bench.play(task, { model: 'proctor/random', seed });
    plays.push(played);
    const reproduce = bench.runCommand(task, 'proctor/random', seed);
    const who = `An agent that calls tools by chance (seed ${seed})`;
    found.push(...foundOf({ finding: 'random', task, played, who, reproduce }, bench, false));
  }
  return { found, plays };
}
