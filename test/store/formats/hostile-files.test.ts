import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { deflateRawSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Trace } from '../../../src/contract/service/trace.ts';
import { toDataUrl } from '../../../src/store/formats/addresses.ts';
import { atifFormat } from '../../../src/store/formats/atif/write.ts';
import { createFileBytes } from '../../../src/store/formats/file-bytes.ts';
import { IMPORT_LIMITS, type ImportLimits } from '../../../src/store/formats/import-limits.ts';
import type { ImportedTrace } from '../../../src/store/formats/imported-trace.ts';
import { Losses } from '../../../src/store/formats/losses.ts';
import { readTraces } from '../../../src/store/formats/read-file.ts';
import { randomTrace } from './random-trace.ts';
import { stored, writeContext } from './round-trip.ts';
import { zipOf } from './zip-of.ts';

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'proctor-hostile-'));
});
afterEach(() => rm(folder, { recursive: true }));

async function read(
  name: string,
  content: string | Uint8Array,
  limits: Partial<ImportLimits> = {},
): Promise<{ traces: Trace[]; read: ImportedTrace[]; lost: Losses }> {
  const path = join(folder, name);
  await writeFile(path, content);
  const losses = new Losses();
  const all = { ...IMPORT_LIMITS, ...limits };
  const context = { options: {}, losses, bytesAt: createFileBytes(path, all) };
  const found: ImportedTrace[] = [];
  for await (const trace of readTraces(path, context, all)) found.push(trace);
  return { traces: found.map(stored), read: found, lost: losses };
}

const step = { step_id: 1, source: 'user', message: 'Hello' };
const trajectory = { schema_version: 'ATIF-v1.8', agent: { name: 'a', version: '1' }, steps: [step] };
const atif = (change: object) => JSON.stringify({ ...trajectory, ...change });
const header = {
  version: 2,
  eval: { task: 't', model: 'm', created: '2026-01-01T00:00:00Z', dataset: {}, config: {} },
};
const sample = { id: 1, epoch: 1, input: 'Hi', target: 'x' };
const log = (change: object) => JSON.stringify({ ...header, samples: [{ ...sample, ...change }] });

describe('a file that is refused', () => {
  it.each([
    ['is empty', 'a.json', '', /no traces/],
    ['is cut off', 'a.json', atif({}).slice(0, 60), /no JSON/],
    ['is cut off in its only line', 'a.jsonl', '{"schema_version": "ATIF-v1.8}', /Line 1 is no JSON/],
    ['is cut off in the middle', 'a.jsonl', `${atif({})}\n${atif({}).slice(0, 60)}\n${atif({})}`, /Line 2 is no JSON/],
    ['has a last line that is none', 'a.jsonl', `${atif({})}\nhello`, /Line 2 is no JSON/],
    ['is no JSON', 'a.json', 'hello', /no JSON/],
    ['is of no known format', 'a.json', '{"a": 1}', /"a" is of no format that is known here/],
    ['is not UTF-8', 'a.json', Buffer.from([0x7b, 0xff, 0xfe]), /not UTF-8/],
    ['is of another major version', 'a.json', atif({ schema_version: 'ATIF-v2.0' }), /schema_version is "ATIF-v2.0"/],
    ['has no steps', 'a.json', atif({ steps: [] }), /steps is not of its format/],
    [
      'is a log of a later version',
      'a.json',
      JSON.stringify({ ...header, version: 3, samples: [sample] }),
      /version 3/,
    ],
    ['is a log without samples', 'a.json', JSON.stringify(header), /has no samples/],
    ['is a trace that runs', 'a.json', JSON.stringify({ ...randomTrace(2), status: 'running' }), /is running/],
    ['is a trace of another version', 'a.json', JSON.stringify({ ...randomTrace(2), version: 2 }), /version is 2/],
    [
      'has a number that no run has',
      'a.json',
      atif({ steps: [step, { source: 'agent', message: '', metrics: { prompt_tokens: 1 } }], extra: {} }).replace(
        '"prompt_tokens":1',
        '"prompt_tokens":1e300',
      ),
      /from 0 to/,
    ],
    ['is no zip', 'a.eval', 'PK\x03\x04 and no more', /no zip|cannot be read/],
    ['is a zip without a log', 'a.eval', zipOf({ 'a.txt': { text: 'x' } }), /no header.json/],
  ])('one that %s', async (_what, name, content, expected) => {
    await expect(read(name, content)).rejects.toThrow(expected);
  });

  it('one that is nested beyond the limit, however deep', async () => {
    const deep = `{"schema_version":"ATIF-v1.8","extra":${'['.repeat(100_000)}${']'.repeat(100_000)}}`;
    await expect(read('a.json', deep)).rejects.toThrow(/nested deeper than 256 levels/);
  });

  it('one with more objects and lists than the limit, before they are made', async () => {
    const many = `[${'{},[],'.repeat(50)}0]`;
    await expect(read('many.json', many, { values: 99 })).rejects.toThrow('more than 99 objects and lists');
    await expect(read('many.json', many, { values: 101 })).rejects.toThrow('is of no format that is known here');
  });

  it('one with more samples than the limit', async () => {
    const many = `${atif({})}\n`.repeat(11);
    await expect(read('a.jsonl', many, { samples: 10 })).rejects.toThrow(/more than 10 traces/);
    const samples = Array.from({ length: 11 }, () => sample);
    await expect(read('a.json', JSON.stringify({ ...header, samples }), { samples: 10 })).rejects.toThrow(/at most 10/);
  });

  it('one with messages that follow each other in a circle', async () => {
    const node = (parent: number) => ({ parent, message: { role: 'user', content: 'x' } });
    const episode = { env: { id: 'e' }, traces: [{ version: 1, nodes: [node(1), node(0)] }] };
    await expect(read('a.jsonl', JSON.stringify(episode))).rejects.toThrow(/follows one that comes before it/);
  });

  it('one that is larger than the limit, before it is read', async () => {
    await expect(read('a.json', atif({}), { fileBytes: 50 })).rejects.toThrow(/larger than 50 bytes/);
  });

  it('one that is a folder of others, or no ordinary file', async () => {
    await mkdir(join(folder, 'empty'));
    const context = { options: {}, losses: new Losses(), bytesAt: createFileBytes(folder, IMPORT_LIMITS) };
    await expect(readTraces(join(folder, 'empty'), context).next()).rejects.toThrow(
      /neither results.jsonl nor traces.jsonl/,
    );
    await expect(readTraces('/dev/zero', context).next()).rejects.toThrow(/no ordinary file/);
    await expect(readTraces(join(folder, 'none'), context).next()).rejects.toThrow(/no such file/);
  });

  it.runIf(process.platform === 'linux')('one that the system does not give', async () => {
    const context = { options: {}, losses: new Losses(), bytesAt: () => undefined };
    await expect(readTraces('/proc/self/mem', context).next()).rejects.toThrow(/It cannot be read \(EIO\)/);
  });
});

describe('a zip that grows when it is unpacked', () => {
  const bomb = deflateRawSync(Buffer.alloc(4_000_000, 0x20));
  const members = (size: number) => ({
    'header.json': { text: JSON.stringify(header) },
    'samples/1_epoch_1.json': { raw: bomb, method: 8, size },
  });

  it('is refused by what it says of a member', async () => {
    const limits = { memberBytes: 1_000_000 };
    await expect(read('a.eval', zipOf(members(4_000_000)), limits)).rejects.toThrow(
      /samples\/1_epoch_1.json is larger than/,
    );
  });

  it('is refused by what comes, where it says less', async () => {
    const limits = { memberBytes: 1_000_000 };
    await expect(read('a.eval', zipOf(members(1_000)), limits)).rejects.toThrow(/samples\/1_epoch_1.json/);
  });

  it('is refused where all members together are too large', async () => {
    const text = JSON.stringify({ ...sample, metadata: { pad: ' '.repeat(400_000) } });
    const many = Object.fromEntries([1, 2, 3, 4].map((n) => [`samples/${n}_epoch_1.json`, { text }]));
    const zip = zipOf({ 'header.json': { text: JSON.stringify(header) }, ...many });
    await expect(read('a.eval', zip, { unpackedBytes: 1_000_000 })).rejects.toThrow(/whole of the zip/);
  });

  it('is refused where it has more members than the limit', async () => {
    const many = Object.fromEntries(Array.from({ length: 20 }, (_, n) => [`x${n}`, { text: '' }]));
    await expect(read('a.eval', zipOf(many), { members: 10 })).rejects.toThrow(/more than 10 members/);
  });

  it('is refused where a member that is packed by Zstandard has more than it says', async () => {
    const text = Buffer.from(JSON.stringify(sample));
    const head = { 'header.json': { text: JSON.stringify(header) } };
    const zip = (size: number) => zipOf({ ...head, 'samples/1_epoch_1.json': { raw: zstdOf(text), method: 93, size } });
    expect((await read('a.eval', zip(text.length))).traces).toHaveLength(1);
    await expect(read('a.eval', zip(5))).rejects.toThrow(/samples\/1_epoch_1.json/);
    await expect(read('a.eval', zip(text.length + 5))).rejects.toThrow(/samples\/1_epoch_1.json/);
  });

  it.each([
    ['deflate', 8, deflateRawSync(JSON.stringify(sample))],
    ['Zstandard', 93, zstdOf(Buffer.from(JSON.stringify(sample)))],
  ])('is refused where a member that is packed by %s is cut off', async (_name, method, whole) => {
    const raw = whole.subarray(0, whole.length - 8);
    const size = JSON.stringify(sample).length;
    const zip = zipOf({
      'header.json': { text: JSON.stringify(header) },
      'samples/1_epoch_1.json': { raw, method, size },
    });
    await expect(read('a.eval', zip)).rejects.toThrow(/samples\/1_epoch_1.json cannot be read/);
  });
});

describe('what a file may not reach', () => {
  const image = (path: string) => ({ type: 'image', source: { media_type: 'image/png', path } });
  const withImage = (path: string) => atif({ steps: [{ ...step, message: [image(path)] }] });

  it.each([
    'http://127.0.0.1:1/a.png',
    'file:///etc/hostname',
    '/etc/hostname',
    '../outside.png',
    'link.png',
    'sub/../../outside.png',
    // Beneath the folder, and no image.
    '.env',
  ])('is bytes at %s: they are lost', async (path) => {
    await writeFile(join(tmpdir(), 'outside.png'), 'x');
    await symlink('/etc/hostname', join(folder, 'link.png'));
    await writeFile(join(folder, '.env'), 'KEY=1');
    const { traces, lost } = await read('a.json', withImage(path));
    expect(JSON.stringify(traces[0]?.prompt)).toContain(`[image ${path}]`);
    expect(lost.toList()).toMatchObject([{ field: 'steps[].message', count: 1 }]);
  });

  it('are other attachments by an attachment: a name in one stays a name', async () => {
    const [one, two] = ['a'.repeat(32), 'b'.repeat(32)];
    const attachments = { [one]: `attachment://${two}`, [two]: `attachment://${one}` };
    const { traces } = await read('a.json', log({ input: `attachment://${one}`, attachments }));
    expect(traces[0]?.prompt).toEqual([{ role: 'user', content: `attachment://${two}` }]);
  });

  it('is the prototype of an object', async () => {
    const text = `${atif({}).slice(0, -1)},"extra":{"__proto__":{"polluted":1},"proctor":{"__proto__":{"polluted":1}}}}`;
    await read('a.json', text);
    expect(({} as { polluted?: number }).polluted).toBeUndefined();
  });
});

describe('a file of others that is unusual', () => {
  it('is read with bare NaN, which is no score', async () => {
    const text = log({ scores: { match: { value: 'X', answer: 'NaN "Infinity"' } } }).replace('"X"', 'NaN');
    const { traces } = await read('a.json', text);
    expect(traces[0]).toMatchObject({ status: 'completed', reward: null, evaluation: null, answer: 'NaN "Infinity"' });
  });

  it.each([
    ['C', 1],
    ['I', 0],
    ['P', 0.5],
    ['N', 0],
    [true, 1],
    [0.3, 0.3],
  ])('has the reward of the score %s', async (value, reward) => {
    const { traces } = await read('a.json', log({ scores: { match: { value }, other: { value: 'P' } } }));
    expect(traces[0]).toMatchObject({ reward, task_id: '1', attempt_index: 1 });
    expect(traces[0]?.evaluation?.subscores).toEqual([{ name: 'other', value: 0.5 }]);
  });

  it('tells which fields were not read, and reads the rest', async () => {
    const { traces, lost } = await read('a.json', atif({ newer: { a: 1 }, notes: 'x' }));
    expect(traces).toHaveLength(1);
    expect(lost.toList().map(({ field }) => field)).toEqual(['newer', 'notes']);
  });

  it.each([
    ['', atif({}).slice(0, 60)],
    [' and has a line end', `${atif({}).slice(0, 60)}\n`],
    [', in the middle of a character', Buffer.from(atif({ notes: 'é' })).subarray(0, -3)],
  ])('is read up to its last line, which is named, where that is cut off%s', async (_name, last) => {
    const { traces, lost } = await read('a.jsonl', Buffer.concat([Buffer.from(`${atif({})}\n`), Buffer.from(last)]));
    expect(traces).toHaveLength(1);
    expect(lost.toList()).toEqual([
      { field: 'line 2', count: 1, why: 'the last line is cut off: those before it are read' },
    ]);
  });

  it.each([
    ['timeout', 'It took 3 s.', 'half of it', ['half of it', 'timeout: It took 3 s.']],
    ['timeout', 'It took 3 s.', '', ['timeout: It took 3 s.']],
    ['timeout', 'It took 3 s.', 'A timeout: It took 3 s.', ['A timeout: It took 3 s.']],
    ['unknown', 'It broke.', 'half of it', ['half of it', 'It broke.']],
  ])('keeps kind and message of a failed tool: %s, %s beside %j', async (type, message, content, texts) => {
    const call = { id: 'c1', function: 'look_up', arguments: {} };
    const messages = [
      { role: 'user', content: 'Hi' },
      { role: 'assistant', content: '', tool_calls: [call] },
      { role: 'tool', tool_call_id: 'c1', content, error: { type, message } },
    ];
    const { traces } = await read('a.json', log({ messages }));
    const [result] = traces[0]?.steps[0]?.tool_results ?? [];
    expect(result?.is_error).toBe(true);
    expect(result?.content.map(({ text }) => text)).toEqual(texts);
  });

  it('is not believed where it only looks like one of ours', async () => {
    const written = atifFormat('1.8').toLine(randomTrace(5), { ...writeContext(), addressOf: toDataUrl });
    const bent = JSON.stringify(written).replaceAll(/"status":"(?:completed|failed|cancelled)"/g, '"status":"none"');
    const { lost } = await read('a.json', bent);
    expect(lost.toList().map(({ field }) => field)).toContain('extra.proctor');
  });
});

/** One frame with one block that is not packed. */
function zstdOf(bytes: Uint8Array): Uint8Array {
  const frame = Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0xa0, 0, 0, 0, 0]);
  frame.writeUInt32LE(bytes.length, 5);
  const block = Buffer.alloc(3);
  block.writeUIntLE((bytes.length << 3) | 1, 0, 3);
  return Buffer.concat([frame, block, bytes]);
}
