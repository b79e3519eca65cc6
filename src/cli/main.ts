#!/usr/bin/env node
import { whyNodeIsTooOld } from '../support/runtime/required-node.ts';

const problem = whyNodeIsTooOld(process.versions.node);
// The program is loaded only on a supported Node.js: on an older one it fails without a clear reason.
if (problem === undefined) void import('./program.ts');
else {
  process.stderr.write(`proctor: ${problem}\n`);
  process.exitCode = 1;
}
