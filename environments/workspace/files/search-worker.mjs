import { parentPort, workerData } from 'node:worker_threads';

const MAX_MATCHES = 200;
const MAX_LINE_LENGTH = 300;

const { pattern, isRegex, texts } = workerData;
try {
  parentPort?.postMessage({ found: search(isRegex ? new RegExp(pattern) : undefined) });
} catch (error) {
  parentPort?.postMessage({ problem: error instanceof Error ? error.message : String(error) });
}

function search(expression) {
  const matches = [];
  for (const { path, text } of texts) {
    for (const [index, line] of text.split('\n').entries()) {
      if (!(expression === undefined ? line.includes(pattern) : expression.test(line))) continue;
      if (matches.length === MAX_MATCHES) return [...matches, `[only the first ${MAX_MATCHES} are shown]`].join('\n');
      matches.push(`${path}:${index + 1}: ${line.slice(0, MAX_LINE_LENGTH)}`);
    }
  }
  return matches.length === 0 ? 'Nothing was found.' : matches.join('\n');
}
