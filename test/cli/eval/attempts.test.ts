import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { TABLE_COLUMNS } from '../../../src/store/formats/attempt-table.ts';
import { freePort } from '../../free-port.ts';
import { readCsv } from '../../store/formats/csv.ts';
import { start } from '../command.ts';
import { counting, evaluate, MANY_COMMANDS, projectWith } from './project.ts';

describe('proctor eval attempts', MANY_COMMANDS, () => {
  it('writes the same table from the database of this directory and from a service', async () => {
    const { cwd } = projectWith(counting(0, 1, 2), 'counter');
    await evaluate(['tasks.jsonl', '--model', 'proctor/oracle', '--model', 'proctor/noop', '--name', 'two'], { cwd });
    const written = await evaluate(['attempts', 'two', '--out', 'two.csv'], { cwd });
    expect([written.code, written.stderr]).toEqual([0, expect.stringContaining('Wrote 6 attempts to two.csv.')]);
    const file = readFileSync(join(cwd, 'two.csv'), 'utf8');
    const [head, ...rows] = readCsv(file.slice(1));
    expect([head, rows.length]).toEqual([TABLE_COLUMNS, 6]);

    const lines = await evaluate(['attempts', 'two', '--format', 'jsonl', '--model', 'proctor/noop'], { cwd });
    const rewards = lines.stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line).reward);
    expect(rewards).toEqual([1, 0, 0]);
    const unknown = await evaluate(['attempts', 'two', '--model', 'none', '--out', 'none.csv'], { cwd });
    expect([unknown.code, unknown.stderr]).toEqual([
      2,
      expect.stringContaining('Its models: proctor/oracle, proctor/noop'),
    ]);

    const ports = ['--port', String(await freePort()), '--scenario-port', String(await freePort())];
    const service = start(['serve', ...ports, '--json'], { cwd });
    const [line] = await service.prints(/^\{.*\}$/m);
    const { url } = z.object({ url: z.string() }).parse(JSON.parse(line));
    const key = readFileSync(join(cwd, '.proctor', 'key'), 'utf8').trim();
    const other = projectWith([], 'counter');
    const there = await evaluate(['attempts', 'two', '--service', url], {
      cwd: other.cwd,
      env: { PROCTOR_API_KEY: key },
    });
    expect(there.code, there.stderr).toBe(0);
    // Addresses of pages differ with the port that the service was given.
    const withoutAddress = (text: string) => readCsv(text.slice(1)).map((row) => row.slice(0, -1));
    expect(withoutAddress(there.stdout)).toEqual(withoutAddress(file));
  });
});
