// Runs inside the sandbox: loads the agent's module, does what it was asked to with it and writes down what came of it. It
// knows inputs alone. What should come of them, and the comparison, stay outside, so that nothing here is worth forging.
import { readFileSync, writeSync } from 'node:fs';
import { pathToFileURL } from 'node:url';

const RESULT_FD = 3;

const { module: file, steps } = JSON.parse(readFileSync(0, 'utf8'));
// Says that what follows is the doing of the agent's code and not of the sandbox.
writeSync(RESULT_FD, 'ready\n');
// From the work directory, where this was started.
const loaded = await import(pathToFileURL(file).href);
const observations = [];
let object;
for (const step of steps) observations.push(await observe(step));
writeSync(RESULT_FD, JSON.stringify(observations));
process.exit(0);

async function observe(step) {
  try {
    const value = await perform(step);
    return { value: encode(value), args: encode(step.args) };
  } catch (error) {
    return { throws: error instanceof Error ? error.name : 'something that is no Error' };
  }
}

async function perform(step) {
  if ('construct' in step) {
    object = new loaded[step.construct](...step.args);
    return null;
  }
  if ('method' in step) return await object[step.method](...step.args);
  if ('property' in step) return object[step.property];
  return await loaded[step.call](...step.args);
}

/** What JSON cannot hold becomes text that says what it was. */
function encode(value) {
  if (Array.isArray(value)) return value.map(encode);
  if (typeof value === 'object' && value !== null) {
    return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, encode(member)]));
  }
  const isPlain = value === null || typeof value === 'string' || typeof value === 'boolean' || Number.isFinite(value);
  return isPlain ? value : `<${typeof value} ${String(value)}>`;
}
