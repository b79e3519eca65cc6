/**
 * The program of an environment's process: `node environment-main.js <module path>`. It loads `environment-start.ts`
 * only if this version of Node.js can run it.
 */
import { whyNodeIsTooOld } from '../../../support/runtime/required-node.ts';

const problem = whyNodeIsTooOld(process.versions.node);
if (problem === undefined) void import('./environment-start.ts');
else {
  process.stderr.write(`${problem}\n`);
  process.exitCode = 1;
}
