// Asks addresses every few milliseconds, each time by connections of its own, and tells how long each answer took.
import { Agent, get } from 'node:http';
import { parentPort, workerData } from 'node:worker_threads';

const { urls, everyMs } = workerData;
const agent = new Agent();
const asked = urls.map(() => []);

function ask(url) {
  const askedAt = performance.now();
  return new Promise((resolve) => {
    const done = () => resolve(performance.now() - askedAt);
    get(url, { agent }, (response) => response.resume().on('end', done)).on('error', done);
  });
}

const timer = setInterval(() => {
  for (const [index, url] of urls.entries()) asked[index].push(ask(url));
}, everyMs);
parentPort.once('message', async () => {
  clearInterval(timer);
  parentPort.postMessage(await Promise.all(asked.map((each) => Promise.all(each))));
});
parentPort.postMessage('ready');
