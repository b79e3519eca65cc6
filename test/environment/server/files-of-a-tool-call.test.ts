import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it } from 'vitest';

/** A function of `file` that was called by one of another file; by the event loop or a package where `caller` is null. */
type Step = readonly [file: string, caller: string | null];

interface Way {
  readonly reply: unknown;
  /** Until the author's code is called, and from there to the end of the reply. */
  readonly in: readonly Step[];
  readonly back: readonly Step[];
}

/** Files that a call may enter. It may fall and never rise. */
const MAX_FILES = 25;

/** Functions of a line or two that ask what a value is: whoever reads the way need not open them. */
const PREDICATES: readonly string[] = ['contract/json', 'environment/server/json-rpc'];

let way: Way;

beforeAll(async () => {
  const program = fileURLToPath(new URL('fixtures/files-of-a-call/call.mjs', import.meta.url));
  const { stdout } = await promisify(execFile)(process.execPath, [program], { timeout: 60_000 });
  way = JSON.parse(stdout) as Way;
}, 70_000);

describe('a tool call over HTTP in a session', () => {
  it(`enters at most ${MAX_FILES} files of src`, () => {
    expect(way.reply).toMatchObject({ result: { structuredContent: { count: 2 } } });
    const files = filesOf([...way.in, ...way.back]);
    expect(files, describeWay(way)).toContain('environment/server/http/endpoint');
    expect(files.length, describeWay(way)).toBeLessThanOrEqual(MAX_FILES);
  });

  it('comes back to no file on its way to the author’s code, but for predicates', () => {
    const visited = way.in.map(([file]) => file).filter((file) => !PREDICATES.includes(file));
    const visits = visited.filter((file, index) => file !== visited[index - 1]);
    const again = visits.filter((file, index) => visits.indexOf(file) !== index);
    expect([...new Set(again)], describeWay(way)).toEqual([]);
  });
});

function filesOf(steps: readonly Step[]): readonly string[] {
  return [...new Set(steps.map(([file]) => file))];
}

function describeWay({ in: there, back }: Way): string {
  const toLines = (steps: readonly Step[]) => steps.map(([file, caller]) => `${caller ?? '(event loop)'} → ${file}`);
  return ['The way in:', ...toLines(there), 'and back:', ...toLines(back)].join('\n');
}
