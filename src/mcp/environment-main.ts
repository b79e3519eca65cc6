/**
 * The program of an environment's process: `node environment-main.js <module path>`. What it does is in
 * `environment-start.ts`, which is loaded where this Node.js can run it.
 */
import { whyNodeIsTooOld } from '../runtime/required-node.ts';

const problem = whyNodeIsTooOld(process.versions.node);
if (problem === undefined) void import('./environment-start.ts');
else {
  process.stderr.write(`${problem}\n`);
  process.exitCode = 1;
}
