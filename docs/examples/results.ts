import { audio, EnvironmentServer, embeddedResource, image, resourceLink, serveMain } from 'proctor';

const CHART = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);
const BEEP = Buffer.from('UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=', 'base64');

/** A tool for each kind of result. */
export default function results() {
  const env = new EnvironmentServer({ name: 'results' });

  env.tool('text', {}, () => 'Three apples.');
  env.tool('number', {}, () => 3);
  env.tool('object', {}, () => ({ apples: 3, pears: 0 }));
  env.tool('list', {}, () => ['apple', 'apple', 'apple']);
  env.tool('nothing', {}, () => {});
  env.tool('picture', {}, () => image(CHART, 'image/png'));

  env.tool('report', {}, () => [
    { type: 'text', text: 'The week in one picture:' },
    image(CHART, 'image/png', { annotations: { audience: ['user'] } }),
    audio(BEEP, 'audio/wav'),
    embeddedResource('shop://notes/1', 'Closed on Sunday.', { mimeType: 'text/plain' }),
    resourceLink('shop://orders/17', 'order 17'),
  ]);

  return env;
}

serveMain(import.meta, results);
