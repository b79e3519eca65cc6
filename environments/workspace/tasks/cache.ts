import type { Json, Step } from '../grading/hidden-test.ts';
import type { CodingTask } from './coding-task.ts';

const SPECIFICATION = `# cache

Write \`src/cache.js\`, an ES module that exports the class \`Cache\`: it keeps the entries that were used last.

- \`new Cache(capacity)\`: how many entries it may hold, a whole number of 1 or more; anything else is a \`RangeError\`.
- \`set(key, value)\` keeps a value. When there are more entries than the capacity, the one that was used longest ago goes. It gives what went as \`[key, value]\`, or \`null\`.
- \`get(key)\` gives the value, or \`null\` for a key that it does not hold.
- \`has(key)\` says whether there is an entry, and is no use of it.
- \`delete(key)\` says whether there was an entry, which is gone then.
- \`keys()\` gives a list of the keys, the one that was used longest ago first.
- \`size\` is the number of entries.

\`set\` and \`get\` are uses. A key may be any text, \`__proto__\` among them; a value may be anything, \`null\` among it.
`;

const START = `export class Cache {
  constructor(capacity) {
    throw new Error('not written yet');
  }
}
`;

const WRITTEN = `export class Cache {
  #capacity;
  #entries = new Map();

  constructor(capacity) {
    if (!Number.isInteger(capacity) || capacity < 1) throw new RangeError(\`not a capacity: \${capacity}\`);
    this.#capacity = capacity;
  }

  get size() {
    return this.#entries.size;
  }

  set(key, value) {
    this.#entries.delete(key);
    this.#entries.set(key, value);
    if (this.#entries.size <= this.#capacity) return null;
    const [oldest] = this.#entries;
    this.#entries.delete(oldest[0]);
    return oldest;
  }

  get(key) {
    if (!this.#entries.has(key)) return null;
    const value = this.#entries.get(key);
    this.set(key, value);
    return value;
  }

  has(key) {
    return this.#entries.has(key);
  }

  delete(key) {
    return this.#entries.delete(key);
  }

  keys() {
    return [...this.#entries.keys()];
  }
}
`;

const VISIBLE = `import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Cache } from '../src/cache.js';

test('keeps what was used last', () => {
  const cache = new Cache(2);
  cache.set('a', 1);
  cache.set('b', 2);
  cache.get('a');
  assert.deepEqual(cache.set('c', 3), ['b', 2]);
  assert.deepEqual(cache.keys(), ['a', 'c']);
});
`;

const cacheOf = (capacity: Json): Step => ({ construct: 'Cache', args: [capacity], gives: null });
const set = (key: string, value: Json, gives: Json = null): Step => ({ method: 'set', args: [key, value], gives });
const get = (key: string, gives: Json): Step => ({ method: 'get', args: [key], gives });
const has = (key: string, gives: boolean): Step => ({ method: 'has', args: [key], gives });
const remove = (key: string, gives: boolean): Step => ({ method: 'delete', args: [key], gives });
const keys = (...gives: readonly string[]): Step => ({ method: 'keys', args: [], gives });
const size = (gives: number): Step => ({ property: 'size', args: [], gives });

/** A class to a written specification. */
export const cache: CodingTask = {
  id: 'cache',
  request: 'Write the module that SPECIFICATION.md describes.',
  files: {
    'package.json': '{ "name": "cache", "type": "module", "private": true }\n',
    'SPECIFICATION.md': SPECIFICATION,
    'src/cache.js': START,
  },
  visibleTests: { 'test/cache.test.js': VISIBLE },
  module: 'src/cache.js',
  hiddenTests: [
    {
      name: 'gives what was kept',
      steps: [cacheOf(3), set('a', { deep: [1] }), get('a', { deep: [1] }), get('b', null)],
    },
    {
      name: 'lets the oldest entry go',
      steps: [cacheOf(2), set('a', 1), set('b', 2), set('c', 3, ['a', 1]), keys('b', 'c')],
    },
    {
      name: 'takes reading as a use',
      steps: [cacheOf(2), set('a', 1), set('b', 2), get('a', 1), set('c', 3, ['b', 2])],
    },
    {
      name: 'takes writing as a use',
      steps: [cacheOf(2), set('a', 1), set('b', 2), set('a', 9), keys('b', 'a'), get('a', 9)],
    },
    {
      name: 'does not take asking as a use',
      steps: [cacheOf(2), set('a', 1), set('b', 2), has('a', true), set('c', 3, ['a', 1])],
    },
    {
      name: 'keeps null as a value',
      steps: [cacheOf(2), set('a', null), has('a', true), set('b', 1), get('a', null), keys('b', 'a')],
    },
    {
      name: 'deletes',
      steps: [cacheOf(2), set('a', 1), remove('a', true), remove('a', false), has('a', false), size(0)],
    },
    {
      name: 'counts',
      steps: [cacheOf(2), size(0), set('a', 1), set('a', 2), size(1), set('b', 1), set('c', 1, ['a', 2]), size(2)],
    },
    {
      name: 'takes any text as a key',
      steps: [cacheOf(9), has('__proto__', false), set('__proto__', 1), get('__proto__', 1), get('constructor', null)],
    },
    { name: 'holds one entry', steps: [cacheOf(1), set('a', 1), set('b', 2, ['a', 1]), keys('b')] },
    {
      name: 'refuses what is no capacity',
      steps: [0, -1, 1.5, '2', null].map((given) => ({ construct: 'Cache', args: [given], throws: 'RangeError' })),
    },
  ],
  solution: [
    { name: 'read_file', arguments: { path: 'SPECIFICATION.md' } },
    { name: 'write_file', arguments: { path: 'src/cache.js', content: WRITTEN } },
    { name: 'run_command', arguments: { command: 'node --test' } },
  ],
};
