import type { Bench } from './bench.ts';
import type { Found, Subject } from './finding.ts';
import { foundOf, isPassed } from './passes.ts';
import type { Played } from './play.ts';

/** From this share of its sessions on a task is paid to those who try at all, and below it to luck. Our choice. */
const TOO_OFTEN = 0.2;

/**
 * Agents that call tools by chance, three as a rule. Where one is paid, more of them tell the chance of that task: the same
 * seeds for each, so that the result is nobody's luck. The first sessions are kept for other findings to look at.
 */
export async function random(
  { task }: Subject,
  bench: Bench,
  isFirst: boolean,
): Promise<{ readonly found: readonly Found[]; readonly plays: readonly Played[] }> {
  const isOver = () => bench.budget.isOver('random', task);
  const tryOne = async (seed: number) => await bench.play(task, { model: 'proctor/random', seed });
  const plays = await bench.each(seeds(1, bench.tries(isFirst).random), { isOver }, tryOne);
  const found = plays.flatMap((played) => {
    const { seed } = played.trace;
    const reproduce = bench.runCommand(task, 'proctor/random', seed ?? 0);
    const who = `An agent that calls tools by chance (seed ${seed})`;
    return foundOf({ finding: 'random', task, played, who, reproduce }, bench, false);
  });
  const isPaid = ({ trace }: Played) => isPassed(trace, bench.threshold);
  const paid = found.find(({ played }) => played !== undefined && isPaid(played));
  if (paid === undefined) return { found, plays };
  const { chances } = bench.effort;
  const most = Math.ceil(chances * TOO_OFTEN);
  let passed = plays.filter(isPaid).length;
  const isDone = () => passed >= most || isOver();
  const more = await bench.each(seeds(plays.length + 1, chances), { isOver: isDone }, async (seed) => {
    const played = await tryOne(seed);
    if (isPaid(played)) passed += 1;
    return played;
  });
  const { sessions, times } = count([...plays, ...more].map(isPaid), most);
  const isTooOften = times >= most;
  const message = `An agent that calls tools by chance passes in ${times} of ${sessions} sessions, as with the seed ${paid.played?.trace.seed}.${isTooOften ? '' : ' That is luck.'}`;
  const others = found.filter(({ played }) => played === undefined || !isPaid(played));
  return { found: [...others, { ...paid, level: isTooOften ? 'error' : 'warning', message }], plays };
}

function seeds(from: number, to: number): readonly number[] {
  return Array.from({ length: Math.max(0, to - from + 1) }, (_, index) => from + index);
}

/** Up to the session that decides: which of those after it were begun by then is chance. */
function count(paid: readonly boolean[], most: number): { readonly sessions: number; readonly times: number } {
  let times = 0;
  for (const [index, isPaid] of paid.entries()) {
    if (isPaid) times += 1;
    if (times >= most) return { sessions: index + 1, times };
  }
  return { sessions: paid.length, times };
}
