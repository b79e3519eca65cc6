#!/usr/bin/env node
import { whyNodeIsTooOld } from '../runtime/required-node.ts';

const problem = whyNodeIsTooOld(process.versions.node);
// Loaded when it can be: a Node.js that is too old fails in many places, none of which says why.
if (problem === undefined) void import('./program.ts');
else {
  process.stderr.write(`proctor: ${problem}\n`);
  process.exitCode = 1;
}
